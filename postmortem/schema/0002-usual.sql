-- SPDX-License-Identifier: GPL-2.0-only
-- What was usual in an episode: the median response to each kind of event by each client, without the event that was the problem.
CREATE TABLE usual (
	episode_id TEXT    NOT NULL REFERENCES episodes (id) ON DELETE CASCADE,
	kind       TEXT    NOT NULL,
	comm       TEXT    NOT NULL,
	events     INTEGER NOT NULL,
	median_ns  INTEGER NOT NULL,
	PRIMARY KEY (episode_id, kind, comm)
) STRICT, WITHOUT ROWID;
CREATE INDEX usual_by_client ON usual (kind, comm);
