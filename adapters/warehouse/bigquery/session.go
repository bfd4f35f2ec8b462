package bigquery

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// scope makes a token read-only, even if its account may write.
const scope = "https://www.googleapis.com/auth/cloud-platform.read-only"

// session is one connection to the API, with a token.
type session struct {
	ctx              context.Context
	to               ports.Target
	web              *warehouse.Web
	host             string
	token            string
	project, dataset string
	first            string // table, once Read has found one
}

// Close ends the session.
func (s *session) Close() { s.web.Close() }

// open opens a session: it passes the steps up to and including database.
func open(
	ctx context.Context, n warehouse.Network, target ports.Target, hosts servers, trace *warehouse.Trace,
) (*session, error) {
	starting, cancel := context.WithTimeout(ctx, target.Limits.Connect)
	defer cancel()
	web, err := dial(starting, n, hosts.api, hosts, trace)
	if err != nil {
		return nil, warehouse.UnlessCanceled(ctx, err)
	}
	s := &session{ctx: ctx, to: target, web: web, host: hosts.api.host, project: target.Credential.Text("project"),
		dataset: target.Credential.Text("dataset")}
	if err := s.begin(n, hosts, trace); err != nil {
		web.Close()
		return nil, warehouse.UnlessCanceled(ctx, err)
	}
	return s, nil
}

// dial connects to a server of Google's. All of them use TLS: a server without TLS is not one of them.
func dial(
	ctx context.Context, n warehouse.Network, a address, hosts servers, trace *warehouse.Trace,
) (*warehouse.Web, error) {
	web, err := warehouse.OpenWeb(ctx, n, a.host, a.port,
		&tls.Config{ServerName: a.host, RootCAs: hosts.roots, MinVersion: tls.VersionTLS12}, trace)
	if errors.Is(err, connection.TLSUnsupported) {
		err = connection.NotThisDatabase
	}
	return web, err
}

// begin gets a token and looks at the dataset.
func (s *session) begin(n warehouse.Network, hosts servers, trace *warehouse.Trace) (err error) {
	starting, cancel := context.WithTimeout(s.ctx, s.to.Limits.Connect)
	defer cancel()
	exchange := warehouse.GoogleSignIn{Host: hosts.token.host, Port: hosts.token.port, Roots: hosts.roots}
	if s.token, err = exchange.Token(starting, n, s.to.Credential.Secret("service_account_key"), scope); err != nil {
		return err
	}
	err = s.call(http.MethodGet, s.path(), url.Values{"fields": {"datasetReference"}}, nil, new(struct{}))
	switch {
	// of the token, or the API is not for this account
	case errors.Is(err, connection.AuthFailed), errors.Is(err, connection.AuthRejected):
		return err
	case errors.Is(err, connection.TableNotFound):
		err = connection.DatabaseNotFound
	case errors.Is(err, connection.PermissionDenied):
		err = connection.DatabaseDeniedOrMissing
	}
	trace.Passed(connection.Authenticate)
	if err != nil {
		return err
	}
	trace.Passed(connection.Database)
	return nil
}

// path returns a path of the API below the dataset.
func (s *session) path(parts ...string) string {
	path := "projects/" + url.PathEscape(s.project) + "/datasets/" + url.PathEscape(s.dataset)
	for _, part := range parts {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// grace is the time after a call's limit in which the server can report the timeout itself.
const grace = 500 * time.Millisecond

// call sends one request and reads the response into out. It returns TableNotFound for a 404.
func (s *session) call(method, path string, query url.Values, in, out any) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.to.Limits.Statement+grace)
	defer cancel()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return connection.Internal
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "https://"+s.host+"/bigquery/v2/"+path+"?"+query.Encode(), body)
	if err != nil {
		return connection.Internal
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("User-Agent", "atrium")
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.web.Do(ctx, r)
	if err != nil {
		return warehouse.UnlessCanceled(s.ctx, err)
	}
	if answer.Status != http.StatusOK {
		return refusal(answer)
	}
	if err := json.Unmarshal(answer.Body, out); err != nil {
		return connection.NotThisDatabase
	}
	return nil
}
