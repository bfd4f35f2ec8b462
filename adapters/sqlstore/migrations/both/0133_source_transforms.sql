-- +goose Up

-- What changes the texts of mapped columns, as JSON. It is beside mapping, which a binary without it writes again.
ALTER TABLE sources ADD COLUMN transforms TEXT NOT NULL DEFAULT '[]';
