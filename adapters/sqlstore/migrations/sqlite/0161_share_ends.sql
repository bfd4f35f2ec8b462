-- +goose Up

-- Shares that end, which change what is cached (ADR 132). PostgreSQL has these indexes since 0160.
CREATE INDEX prompt_shares_end ON prompt_shares (expires_at) WHERE expires_at > 0;
CREATE INDEX prompt_folder_shares_end ON prompt_folder_shares (expires_at) WHERE expires_at > 0;
