-- +goose Up
-- Versions among which the readers of a label are divided. The first (position 0) has the label: if another version has
-- it, the previous release of Atrium moved it, and the rollout has ended. slots are percents of the readers, in
-- hexadecimal.
CREATE TABLE prompt_rollouts (
    template_id TEXT NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    label       TEXT NOT NULL,
    position    INTEGER NOT NULL,
    version_id  TEXT NOT NULL REFERENCES prompt_versions (id) ON DELETE CASCADE,
    seed        TEXT NOT NULL,
    slots       TEXT NOT NULL,
    PRIMARY KEY (template_id, label, position)
);
CREATE INDEX prompt_rollouts_version ON prompt_rollouts (version_id);
-- The versions and weights of a rollout that the move started or changed, as JSON.
ALTER TABLE prompt_label_moves ADD COLUMN weights TEXT NOT NULL DEFAULT '';
