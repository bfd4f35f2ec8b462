-- +goose NO TRANSACTION
-- Nodes of the version before serve meanwhile: a transaction that locks users and memberships would wait for
-- theirs, and theirs for it. Each statement can be repeated.

-- +goose Up
-- email_verified_by: the URL of an issuer, or operator. operator_by: a JSON array of issuers whose rules say so.
ALTER TABLE users ADD COLUMN IF NOT EXISTS email_verified_by TEXT NOT NULL DEFAULT '', ADD COLUMN IF NOT EXISTS operator_by TEXT NOT NULL DEFAULT '';
-- A JSON object: the role beyond by_hand by issuer.
ALTER TABLE memberships ADD COLUMN IF NOT EXISTS granted TEXT NOT NULL DEFAULT '';
DROP INDEX CONCURRENTLY IF EXISTS invitations_address; -- which a build that was cut off left
CREATE INDEX CONCURRENTLY invitations_address ON invitations (org_id, email_key) WHERE open;

-- The first sign-in made an account, or the command line did.
UPDATE users SET email_verified_by = COALESCE(
    (SELECT MIN(s.issuer) FROM sign_ins s WHERE s.user_id = users.id AND s.created_at = users.created_at), 'operator')
WHERE email_verified AND email <> '' AND email_verified_by = '';

-- What rules gave to somebody who signs in at one issuer only was given by the rules of that issuer.
UPDATE users SET operator_by =
    (SELECT json_build_array(s.issuer)::text FROM sign_ins s WHERE s.user_id = users.id LIMIT 1)
WHERE operator AND NOT operator_by_hand AND operator_by = ''
    AND (SELECT COUNT(DISTINCT s.issuer) FROM sign_ins s WHERE s.user_id = users.id) = 1;
UPDATE memberships SET granted =
    (SELECT json_build_object(s.issuer, memberships.role)::text FROM sign_ins s WHERE s.user_id = memberships.user_id LIMIT 1)
WHERE role > by_hand AND granted = ''
    AND (SELECT COUNT(DISTINCT s.issuer) FROM sign_ins s WHERE s.user_id = memberships.user_id) = 1;
