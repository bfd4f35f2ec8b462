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
// call.
func (w *Sessions) withToken(
	ctx context.Context, n Network, target ports.Target, trace *Trace,
) (ports.Target, error) {
	c := target.Credential
	switch {
	case c.UsesAWSTokens():
		target.Credential = c.WithPassword(secret.New(rdsToken(c, time.Now())))
	case c.UsesGoogleTokens():
		err := FetchToken(ctx, n, target, trace, func(ctx context.Context, n Network) error {
			token, err := w.google.Token(ctx, n, c.Secret(connection.FieldCloudSQLKey), cloudSQLScope)
			target.Credential = c.WithPassword(secret.New(token))
			return err
		})
		return target, err
	}
	return target, nil
}

// FetchToken gets what a call signs in with from another server than the database. fetch gets a network without the
// SSH server, which leads only to the database, and as much time as a connection. If it fails, the step authenticate
// fails, and the steps before it are skipped.
func FetchToken(
	ctx context.Context, n Network, target ports.Target, trace *Trace, fetch func(context.Context, Network) error,
) error {
	if route, ok := n.(*tunnel); ok {
		n = route.Network
	}
	starting, cancel := context.WithTimeout(ctx, target.Limits.Connect)
	defer cancel()
	err := fetch(starting, n)
	if err == nil {
		return nil
	}
	for _, step := range connection.Steps() {
		if step == connection.Authenticate {
			break
		}
		trace.Skipped(step)
	}
	return tokenFailure(ctx, err)
}

// tokenFailure returns why there is no token. Failures of the network are not failures of the database's host.
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
