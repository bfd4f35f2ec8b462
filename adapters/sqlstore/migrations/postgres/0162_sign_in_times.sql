-- +goose Up

-- The time of the newest token of a sign-in changes with each token. It decides nothing that is cached, so it does not
-- count as a change of everything any more.
DROP TRIGGER changed ON sign_ins;
CREATE TRIGGER removed AFTER DELETE ON sign_ins FOR EACH ROW EXECUTE FUNCTION note_everyone();
CREATE TRIGGER changed AFTER UPDATE ON sign_ins FOR EACH ROW
    WHEN (to_jsonb(OLD) - 'issued_at' <> to_jsonb(NEW) - 'issued_at') EXECUTE FUNCTION note_everyone();
