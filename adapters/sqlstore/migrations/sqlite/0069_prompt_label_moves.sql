-- +goose Up
-- Who gave a label of a prompt template to which version, or took it away (no to_version_id), and why. The moves outlive
-- the versions that they name.
CREATE TABLE prompt_label_moves (
    template_id     TEXT NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    label           TEXT NOT NULL,
    number          INTEGER NOT NULL,
    from_version_id TEXT NOT NULL,
    from_number     INTEGER NOT NULL,
    to_version_id   TEXT NOT NULL,
    to_number       INTEGER NOT NULL,
    moved_by        TEXT NOT NULL,
    moved_at        BIGINT NOT NULL,
    reason          TEXT NOT NULL,
    PRIMARY KEY (template_id, label, number)
);
