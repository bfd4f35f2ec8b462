-- +goose Up

-- The version that each reference to a prompt named when the owner of its holder, a chat template or a prompt that
-- includes others, could last read the prompt (ADR 182). lost_at is when it was noted that the owner cannot; 0: they
-- can.
CREATE TABLE prompt_references (
    holder_id    TEXT NOT NULL,
    prompt_id    TEXT NOT NULL,
    ref          TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    version_id   TEXT NOT NULL,
    lost_at      BIGINT NOT NULL,
    PRIMARY KEY (holder_id, prompt_id, ref)
);
CREATE INDEX prompt_references_prompt ON prompt_references (prompt_id);

-- What existing references name now.
INSERT INTO prompt_references (holder_id, prompt_id, ref, workspace_id, version_id, lost_at)
SELECT c.holder_id, p.id, c.ref, p.workspace_id,
    COALESCE(CASE c.ref WHEN 'active' THEN p.active_version_id WHEN 'latest' THEN p.latest_frozen_id
        WHEN 'previous' THEN (SELECT v.id FROM prompt_versions v WHERE v.id = (SELECT a.from_version_id
            FROM prompt_activations a WHERE a.template_id = p.id ORDER BY a.number DESC LIMIT 1))
        ELSE COALESCE((SELECT l.version_id FROM prompt_labels l WHERE l.template_id = p.id AND l.label = c.ref),
            (SELECT v.id FROM prompt_versions v WHERE v.template_id = p.id
            AND (v.id = c.ref OR 'v' || v.number = c.ref))) END, ''), 0
FROM (SELECT id AS holder_id, prompt_id, prompt_ref AS ref FROM chat_templates WHERE prompt_id <> ''
    UNION SELECT template_id, prompt_id, prompt_ref FROM chat_versions WHERE prompt_id <> ''
    UNION SELECT i.template_id, i.target_id, i.ref FROM prompt_includes i JOIN prompt_versions v
        ON v.id = i.version_id AND v.frozen) c
JOIN prompt_templates p ON p.id = c.prompt_id;
