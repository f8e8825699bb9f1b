-- SPDX-License-Identifier: GPL-2.0-only
-- The user's tags, a blank between two: see Tipme::Notes.
ALTER TABLE episodes ADD COLUMN tags TEXT NOT NULL DEFAULT '';
