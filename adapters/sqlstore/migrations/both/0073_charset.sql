-- +goose Up

-- How a CSV file is written, if a person has said so; '' is detected.
ALTER TABLE sources ADD COLUMN charset TEXT NOT NULL DEFAULT '';
ALTER TABLE sources ADD COLUMN delimiter TEXT NOT NULL DEFAULT '';
