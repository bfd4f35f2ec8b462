-- +goose Up

-- Of the links that were mailed to a person, all end when one is used.
ALTER TABLE sign_in_links ADD COLUMN mailed BOOLEAN NOT NULL DEFAULT FALSE;
