package warehouse

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/ports"
)

// cloudSQLScope permits nothing but to sign in to databases.
const cloudSQLScope = "https://www.googleapis.com/auth/sqlservice.login"

// withToken returns the target with the password that it signs in with: if it has a key for tokens, a token for this
// call. A token that cannot be had fails the step authenticate; the steps before it are then skipped.
func (w *Sessions) withToken(
	ctx context.Context, n Network, to ports.Target, trace *Trace,
) (ports.Target, error) {
	c := to.Credential
	switch {
	case c.UsesAWSTokens():
		to.Credential = c.WithPassword(secret.New(rdsToken(c, time.Now())))
	case c.UsesGoogleTokens():
		if through, ok := n.(*tunnel); ok { // the SSH server leads only to the database
			n = through.Network
		}
		starting, cancel := context.WithTimeout(ctx, to.Limits.Connect)
		defer cancel()
		token, err := w.google.Token(starting, n, c.Secret(connection.FieldCloudSQLKey), cloudSQLScope)
		if err != nil {
			for _, step := range connection.Steps() {
				if step == connection.Authenticate {
					break
				}
				trace.Skipped(step)
			}
			return to, tokenFailure(ctx, err)
		}
		to.Credential = c.WithPassword(secret.New(token))
	}
	return to, nil
}

// tokenFailure returns why there is no token. Failures of the network are not those of the database's host.
func tokenFailure(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Canceled
	}
	if code, ok := errors.AsType[connection.Code](err); ok &&
		slices.Contains([]connection.Code{connection.AuthFailed, connection.AuthRejected}, code) {
		return code
	}
	return connection.TokenUnavailable
}
