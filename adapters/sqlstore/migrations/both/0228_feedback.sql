-- +goose Up

-- What readers reported about versions of prompt templates, summed up by name and day: the number of days since 1970.
-- tally is JSON: sums are exact, and longer than the integers of a database. The names of these tables do not begin
-- with prompt_, because answers in memory do not depend on them.
CREATE TABLE version_feedback (
    template_id TEXT NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    day         BIGINT NOT NULL,
    name        TEXT NOT NULL,
    version_id  TEXT NOT NULL,
    number      BIGINT NOT NULL,
    kind        TEXT NOT NULL,
    tally       TEXT NOT NULL,
    PRIMARY KEY (template_id, day, name, version_id)
);
CREATE INDEX version_feedback_day ON version_feedback (day);

-- The names of a template's feedback with what their values are, as JSON, and how many comments there ever were. The
-- row is locked while feedback about the template is added.
CREATE TABLE feedback_names (
    template_id TEXT PRIMARY KEY REFERENCES prompt_templates (id) ON DELETE CASCADE,
    names       TEXT NOT NULL,
    comments    BIGINT NOT NULL
);

-- The reports that counted, by the key that their sender gave them.
CREATE TABLE feedback_reports (
    template_id TEXT NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    report_key  TEXT NOT NULL,
    digest      TEXT NOT NULL,
    version_id  TEXT NOT NULL,
    number      BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (template_id, report_key)
);
CREATE INDEX feedback_reports_created ON feedback_reports (created_at);

-- The latest comments, numbered by template.
CREATE TABLE feedback_comments (
    template_id TEXT NOT NULL REFERENCES prompt_templates (id) ON DELETE CASCADE,
    number      BIGINT NOT NULL,
    version_id  TEXT NOT NULL,
    version     BIGINT NOT NULL,
    name        TEXT NOT NULL,
    value       TEXT NOT NULL,
    comment     TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (template_id, number)
);
CREATE INDEX feedback_comments_created ON feedback_comments (created_at);
