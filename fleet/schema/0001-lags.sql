-- SPDX-License-Identifier: GPL-2.0-only
-- What a fleet keeps. One text for PostgreSQL and SQLite: lines that begin with `pg:` are for
-- PostgreSQL only, those with `lite:` for SQLite only.
--
-- One row for each bundle that was accepted. (machine, time, episode) names it: the same bundle
-- taken twice is one row. Names are as the bundle has them, cleaned, at most 200 characters; '' is
-- "not known". The week is that of `time`, counted from Monday, 1970-01-05 (UTC).
CREATE TABLE lags (
	machine     TEXT    NOT NULL,           -- enrolment id: 32 hexadecimal digits
	episode     TEXT    NOT NULL,           -- as the machine named it
	time        BIGINT  NOT NULL,           -- of the trigger, seconds since 1970 (UTC)
	week        INTEGER NOT NULL,
	application TEXT    NOT NULL DEFAULT '', -- whom the person waited for
	culprit     TEXT    NOT NULL DEFAULT '', -- who made it wait
	kind        TEXT    NOT NULL,           -- of the verdict
	function    TEXT    NOT NULL DEFAULT '',
	stage       TEXT    NOT NULL DEFAULT '', -- where most of the time went
	signature   TEXT    NOT NULL,           -- of kind, culprit, function, stage: 16 digits
	kernel      TEXT    NOT NULL DEFAULT '',
	hardware    TEXT    NOT NULL DEFAULT '',
	version     TEXT    NOT NULL DEFAULT '', -- of the culprit's package; else of the recorder
	waited_ns   BIGINT  NOT NULL,           -- from the press to the answer
	usual_ns    BIGINT,                     -- NULL: not known
	confidence  REAL,                       -- 0 to 1; NULL: not known
	sentence    TEXT    NOT NULL DEFAULT ''
lite: , UNIQUE (machine, time, episode)
) /* partition */;
-- Who was there and could have sent something: without it a week without lags says nothing.
CREATE TABLE presence (
	machine TEXT    NOT NULL,
	week    INTEGER NOT NULL,
	kernel  TEXT    NOT NULL DEFAULT '',
	version TEXT    NOT NULL DEFAULT '',
	hours   REAL    NOT NULL,               -- for how long a recorder ran in that week, 0 to 168
	UNIQUE (machine, week, kernel, version)
);
CREATE INDEX lags_by_signature ON lags (signature, time);
lite: CREATE INDEX lags_by_week ON lags (week);
