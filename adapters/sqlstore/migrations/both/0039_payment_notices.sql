-- +goose Up
-- The notices that a workspace was given about its payments, as JSON, so that each is given once.
ALTER TABLE payment_customers ADD COLUMN notices TEXT NOT NULL DEFAULT '';
