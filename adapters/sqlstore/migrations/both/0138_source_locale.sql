-- +goose Up

-- The locale that a workbook's system dates are shown in, if a person has said so; '' is the org's.
ALTER TABLE sources ADD COLUMN locale TEXT NOT NULL DEFAULT '';
