-- +goose Up
-- Since when keys that are derived from the keyring's seal, and keyed digests stand in the place of plain ones.
-- A database that v0.1.0 made waits for a day: nodes of v0.1.0 have to read what is written until they are gone.
ALTER TABLE keyring ADD COLUMN derived_at BIGINT NOT NULL DEFAULT 0;
UPDATE keyring SET derived_at = (EXTRACT(EPOCH FROM now())::BIGINT + 86400) * 1000000;

-- The revision that is part of the associated data of the sealed credential; 0 if none is, as in v0.1.0.
ALTER TABLE connection_credentials ADD COLUMN revision BIGINT NOT NULL DEFAULT 0;

-- The thing whose secret came with the request: what request holds is erased when that ends.
ALTER TABLE idempotency_keys ADD COLUMN brought TEXT NOT NULL DEFAULT '';
CREATE INDEX idempotency_keys_brought ON idempotency_keys (brought) WHERE brought <> '';
