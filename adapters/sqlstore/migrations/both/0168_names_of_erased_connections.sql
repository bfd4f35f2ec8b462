-- +goose Up

-- Erasing a connection did not store its new name, so its old one stayed. Only an erased connection has no configuration.
UPDATE connections SET name = 'Erased' WHERE status = 'revoked' AND config = '{}' AND name <> 'Erased';
