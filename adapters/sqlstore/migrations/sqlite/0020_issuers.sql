-- +goose Up
ALTER TABLE users ADD COLUMN email_verified_by TEXT NOT NULL DEFAULT ''; -- the URL of an issuer, or operator
ALTER TABLE users ADD COLUMN operator_by TEXT NOT NULL DEFAULT ''; -- JSON array of issuers whose rules say so
ALTER TABLE memberships ADD COLUMN granted TEXT NOT NULL DEFAULT ''; -- JSON object: role beyond by_hand by issuer
CREATE INDEX invitations_address ON invitations (org_id, email_key) WHERE open;

-- The first sign-in made an account, or the command line did.
UPDATE users SET email_verified_by = COALESCE(
    (SELECT MIN(s.issuer) FROM sign_ins s WHERE s.user_id = users.id AND s.created_at = users.created_at), 'operator')
WHERE email_verified AND email <> '';

-- What rules gave to somebody who signs in at one issuer only was given by the rules of that issuer.
UPDATE users SET operator_by =
    (SELECT json_array(s.issuer) FROM sign_ins s WHERE s.user_id = users.id LIMIT 1)
WHERE operator AND NOT operator_by_hand
    AND (SELECT COUNT(DISTINCT s.issuer) FROM sign_ins s WHERE s.user_id = users.id) = 1;
UPDATE memberships SET granted =
    (SELECT json_object(s.issuer, memberships.role) FROM sign_ins s WHERE s.user_id = memberships.user_id LIMIT 1)
WHERE role > by_hand
    AND (SELECT COUNT(DISTINCT s.issuer) FROM sign_ins s WHERE s.user_id = memberships.user_id) = 1;
