-- +goose Up

-- The numbers that checks found (NULL: none), and those that versions need to pass them (JSON). The previous release
-- ignores both.
ALTER TABLE prompt_checks ADD COLUMN result DOUBLE PRECISION;
ALTER TABLE prompt_templates ADD COLUMN check_thresholds TEXT NOT NULL DEFAULT '';
