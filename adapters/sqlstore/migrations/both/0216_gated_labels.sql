-- +goose Up

-- Labels to which approvals, required checks and the contract apply as to activations, and those that only managers
-- move. Both are names that commas separate.
ALTER TABLE prompt_templates ADD COLUMN gated_labels TEXT NOT NULL DEFAULT '';
ALTER TABLE prompt_templates ADD COLUMN protected_labels TEXT NOT NULL DEFAULT '';

-- A request for a label has its versions in parts (JSON). Its version_id is empty, so that the previous release, which
-- knows only activations, cancels it instead of activating the version.
ALTER TABLE prompt_requests ADD COLUMN label TEXT NOT NULL DEFAULT '';
ALTER TABLE prompt_requests ADD COLUMN parts TEXT NOT NULL DEFAULT '';
ALTER TABLE prompt_label_moves ADD COLUMN request_id TEXT NOT NULL DEFAULT '';

-- Whether a check was reported by an author of the version, or with a key that they created: it does not count then.
ALTER TABLE prompt_checks ADD COLUMN by_author BOOLEAN NOT NULL DEFAULT FALSE;

-- Who changed the content of a version last, if someone did.
ALTER TABLE prompt_versions ADD COLUMN edited_by TEXT NOT NULL DEFAULT '';
