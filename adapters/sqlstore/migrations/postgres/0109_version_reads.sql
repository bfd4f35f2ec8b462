-- +goose Up
-- How often applications read versions of prompt templates, by day: the number of days since 1970. The name does not
-- begin with prompt_, because answers in memory do not depend on it.
CREATE TABLE version_reads (
    template_id TEXT COLLATE "C" NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    day         INTEGER NOT NULL,
    version_id  TEXT COLLATE "C" NOT NULL,
    number      INTEGER NOT NULL,
    reads       BIGINT NOT NULL,
    PRIMARY KEY (template_id, day, version_id)
);
CREATE INDEX version_reads_day ON version_reads (day);
