-- +goose Up

-- The feedback by which a rollout's versions are compared, as JSON ('' is none), the day on which the rollout started,
-- and when it was reported that one of them is worse. Each row of a rollout has the same.
ALTER TABLE prompt_rollouts ADD COLUMN guard TEXT NOT NULL DEFAULT '';
ALTER TABLE prompt_rollouts ADD COLUMN since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE prompt_rollouts ADD COLUMN warned_at BIGINT NOT NULL DEFAULT 0;
