-- SPDX-License-Identifier: GPL-2.0-only
-- Whose answer was slow: the name of the client of the event; empty where there was no event, or an older version diagnosed.
ALTER TABLE verdicts ADD COLUMN client_comm TEXT NOT NULL DEFAULT '';
