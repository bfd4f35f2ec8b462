package sqlstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/atrium-hq/atrium/domain/account"
	"github.com/atrium-hq/atrium/domain/identity"
)

// mailScopes are the scopes in which mails are counted. Rows are locked in this order, after the workspace, so that
// two calls never deadlock.
func mailScopes(by identity.Actor, ws identity.WorkspaceID, email string) [3]string {
	return [3]string{
		"workspace " + string(ws),
		"user " + string(by.Org) + " " + string(by.User),
		"address " + string(by.Org) + " " + account.Mailbox(email),
	}
}

// mailsKept is how long a mail is counted: the longest window of account.MailLimits.
const mailsKept = 24 * time.Hour

// lockMails reads and locks the times of sent mails. Every other invitation that counts in one of the same scopes
// waits.
func (db *DB) lockMails(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, email string, into *account.Sent) error {
	counts := [3]*[]time.Time{&into.Workspace, &into.User, &into.Address}
	for i, scope := range mailScopes(by, ws, email) {
		var text string
		if _, err := db.get(ctx, &text, `INSERT INTO invitation_mails (scope, sent, last_at) VALUES (?, '[]', ?)
			ON CONFLICT (scope) DO UPDATE SET last_at = excluded.last_at RETURNING sent`, scope, micros(by.At)); err != nil {
			return err
		}
		var times []int64
		if err := json.Unmarshal([]byte(text), &times); err != nil {
			return err
		}
		for _, us := range times {
			*counts[i] = append(*counts[i], fromMicros(us))
		}
	}
	return nil
}

// saveMails stores the times that lockMails read, with those that an invitation added.
func (db *DB) saveMails(ctx context.Context, by identity.Actor, ws identity.WorkspaceID, email string, sent account.Sent) error {
	counts := [3][]time.Time{sent.Workspace, sent.User, sent.Address}
	for i, scope := range mailScopes(by, ws, email) {
		times := make([]int64, len(counts[i]))
		for j, at := range counts[i] {
			times[j] = micros(at)
		}
		text, err := json.Marshal(times)
		if err != nil {
			return err
		}
		if _, err := db.exec(ctx, `UPDATE invitation_mails SET sent = ? WHERE scope = ?`, string(text), scope); err != nil {
			return err
		}
	}
	return nil
}
