// SPDX-License-Identifier: GPL-2.0-only
// A small Swing program: a text, and a button; F5 and the button do the deed and add a line.
import java.awt.BorderLayout;
import java.awt.event.ActionEvent;
import java.io.IOException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.swing.*;

public class Notes {
	static final String[] DEED = System.getenv().getOrDefault("DESK_DEED", "").split(" ");
	static final JTextArea text = new JTextArea();
	static double sink;

	static void deed() {
		try {
			switch (DEED[0]) {
			case "compute" -> {
				long end = System.nanoTime() + Long.parseLong(DEED[1]) * 1_000_000;
				while (System.nanoTime() < end) for (int i = 0; i < 1000; i++) sink += Math.sqrt(i);
			}
			case "sleep" -> Thread.sleep(Long.parseLong(DEED[1]));
			case "read" -> Files.readAllBytes(Path.of(DEED[1]));
			case "http" -> new URL("http://127.0.0.1:" + DEED[1] + "/").openStream().readAllBytes();
			case "flock" -> new ProcessBuilder("flock", DEED[1], "true").start().waitFor();
			case "dbus" -> new ProcessBuilder("gdbus", "call", "--session", "--dest", DEED[1],
				"--object-path", "/store", "--method", DEED[1] + ".Ask").start().waitFor();
			default -> { }
			}
		} catch (IOException | InterruptedException e) {
			text.append(e + "\n");
		}
	}

	static void answer() {
		deed();
		text.append("the answer\n");
	}

	static void on(String key, Runnable what) {
		text.getInputMap().put(KeyStroke.getKeyStroke(key), key);
		text.getActionMap().put(key, new AbstractAction() {
			@Override public void actionPerformed(ActionEvent e) { what.run(); }
		});
	}

	public static void main(String[] args) {
		SwingUtilities.invokeLater(() -> {
			JFrame frame = new JFrame("desk-notes");
			JButton button = new JButton("Refresh");
			frame.setDefaultCloseOperation(JFrame.EXIT_ON_CLOSE);
			text.getCaret().setBlinkRate(0);
			button.addActionListener(e -> answer());
			on("F5", Notes::answer);
			on("F6", () -> {
				text.append("searching ...\n");
				Timer timer = new Timer(150, e -> answer());
				timer.setRepeats(false);
				timer.start();
			});
			frame.add(new JScrollPane(text), BorderLayout.CENTER);
			frame.add(button, BorderLayout.SOUTH);
			frame.setSize(800, 500);
			frame.setVisible(true);
			text.requestFocusInWindow();
		});
	}
}
