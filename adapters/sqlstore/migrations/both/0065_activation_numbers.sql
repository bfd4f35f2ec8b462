-- +goose Up
-- The numbers of the versions, which stay after a version is deleted. 0: it was deleted before, or there is none.
ALTER TABLE prompt_activations ADD COLUMN from_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE prompt_activations ADD COLUMN to_number INTEGER NOT NULL DEFAULT 0;
UPDATE prompt_activations SET
    from_number = COALESCE((SELECT v.number FROM prompt_versions v WHERE v.id = prompt_activations.from_version_id), 0),
    to_number = COALESCE((SELECT v.number FROM prompt_versions v WHERE v.id = prompt_activations.to_version_id), 0);
