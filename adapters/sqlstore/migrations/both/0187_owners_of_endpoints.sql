-- +goose Up

-- Who owns a webhook or a connection, if it is not who created it, and whether that user has lost the role.
ALTER TABLE webhooks ADD COLUMN owner_id TEXT NOT NULL DEFAULT '';
ALTER TABLE webhooks ADD COLUMN ownerless BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE connections ADD COLUMN owner_id TEXT NOT NULL DEFAULT '';
ALTER TABLE connections ADD COLUMN ownerless BOOLEAN NOT NULL DEFAULT FALSE;
