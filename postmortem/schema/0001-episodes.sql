-- SPDX-License-Identifier: GPL-2.0-only
-- The library: one row for each episode folder, and what diagnose found. All of it can be made again from the folders.
CREATE TABLE episodes (
	id           TEXT    PRIMARY KEY,
	time         TEXT    NOT NULL DEFAULT '',
	trigger_ns   INTEGER,
	trigger_kind TEXT    NOT NULL DEFAULT '',
	trigger_text TEXT    NOT NULL DEFAULT '',
	note         TEXT    NOT NULL DEFAULT '',
	kernel       TEXT    NOT NULL DEFAULT '',
	cpus         INTEGER,
	records      INTEGER NOT NULL DEFAULT 0,
	lost         INTEGER NOT NULL DEFAULT 0,
	bytes        INTEGER NOT NULL DEFAULT 0,
	stamp        TEXT    NOT NULL,
	problem      TEXT    NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX episodes_by_time ON episodes (time, id);

CREATE TABLE verdicts (
	episode_id   TEXT    PRIMARY KEY REFERENCES episodes (id) ON DELETE CASCADE,
	kind         TEXT    NOT NULL,
	sentence     TEXT    NOT NULL,
	blamed_comm  TEXT    NOT NULL DEFAULT '',
	blamed_pid   INTEGER,
	share        REAL,
	confidence   REAL,
	interval_ns  INTEGER
) STRICT;
