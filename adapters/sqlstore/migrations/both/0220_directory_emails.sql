-- +goose Up
-- The type of the address that a directory sent, such as work: its later changes name the address by it.
ALTER TABLE scim_users ADD COLUMN email_type TEXT NOT NULL DEFAULT 'work';
