-- SPDX-License-Identifier: GPL-2.0-only
-- What `tipme profile` counted where people take part (lines as in 0001-lags.sql).
--
-- One row for each profile, application and kind of input: how many answers, how many of them too
-- late, how long all took. (machine, time, profile, application, input) names it. A profile counts
-- in the week in which it began; no time here is finer than a week.
CREATE TABLE counts (
	machine     TEXT    NOT NULL,           -- enrolment id: 32 hexadecimal digits
	profile     TEXT    NOT NULL,           -- 16 digits: the same profile taken twice counts once
	time        BIGINT  NOT NULL,           -- first second of `week`, since 1970 (UTC)
	week        INTEGER NOT NULL,
	application TEXT    NOT NULL DEFAULT '',
	input       TEXT    NOT NULL,           -- key, button, wheel, touch or motion
	kernel      TEXT    NOT NULL DEFAULT '',
	version     TEXT    NOT NULL DEFAULT '', -- of the recorder
	answers     BIGINT  NOT NULL,
	late        BIGINT  NOT NULL,           -- answers after more than 150 ms; of motion 75 ms
	waited_ns   BIGINT  NOT NULL            -- by all answers
lite: , UNIQUE (machine, time, profile, application, input)
) /* partition */;
lite: CREATE INDEX counts_by_week ON counts (week);
