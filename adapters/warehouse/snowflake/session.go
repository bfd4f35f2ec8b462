package snowflake

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/atrium-hq/atrium/adapters/warehouse"
	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/ports"
)

// session is one connection to the API. Each statement is a session of its own there.
type session struct {
	ctx      context.Context
	to       ports.Target
	web      *warehouse.Web
	host     string
	token    string
	database string
	version  string
	role     string // that statements run as
}

// Close ends the session.
func (s *session) Close() { s.web.Close() }

// open opens a session: it passes the steps up to and including database.
func (p place) open(
	ctx context.Context, n warehouse.Network, target ports.Target, trace *warehouse.Trace,
) (*session, error) {
	starting, cancel := context.WithTimeout(ctx, target.Limits.Connect)
	defer cancel()
	server := p.server(target.Credential.Text("account"))
	web, err := warehouse.OpenWeb(starting, n, server.host, server.port,
		&tls.Config{ServerName: server.host, RootCAs: p.roots, MinVersion: tls.VersionTLS12}, trace)
	if err != nil {
		if errors.Is(err, connection.TLSUnsupported) { // all of Snowflake's servers have it
			err = connection.NotThisDatabase
		}
		return nil, warehouse.UnlessCanceled(ctx, err)
	}
	s := &session{ctx: ctx, to: target, web: web, host: server.host,
		database: target.Credential.Text(connection.FieldDatabase)}
	if err := s.begin(trace); err != nil {
		web.Close()
		return nil, warehouse.UnlessCanceled(ctx, err)
	}
	return s, nil
}

// begin signs in and reads the properties of the session, with a statement that needs no warehouse.
func (s *session) begin(trace *warehouse.Trace) (err error) {
	if s.token, err = sign(s.to.Credential, time.Now()); err != nil {
		return connection.Internal
	}
	rows, err := s.queryWithin(s.to.Limits.Connect,
		`SELECT CURRENT_VERSION(), CURRENT_DATABASE(), CURRENT_WAREHOUSE(), CURRENT_ROLE()`)
	switch {
	case errors.Is(err, connection.QueryTimeout):
		return connection.ConnectTimeout
	case errors.Is(err, connection.TableNotFound):
		err = connection.DatabaseDeniedOrMissing
	}
	if errors.Is(err, connection.DatabaseDeniedOrMissing) {
		trace.Passed(connection.Authenticate) // the server looks up the database only after sign-in
	}
	if err != nil {
		return err
	}
	if len(rows) != 1 || len(rows[0]) != 4 || rows[0][0] == nil {
		return connection.NotThisDatabase
	}
	trace.Passed(connection.Authenticate)
	if rows[0][1] == nil || rows[0][2] == nil { // it leaves out objects that are missing or not visible to this role
		return connection.DatabaseDeniedOrMissing
	}
	trace.Passed(connection.Database)
	s.version = *rows[0][0]
	if rows[0][3] != nil {
		s.role = *rows[0][3]
	}
	return nil
}

// sign creates a credential's token ("Using key-pair authentication" of the SQL API's documentation).
func sign(c connection.Credential, now time.Time) (string, error) {
	key, err := connection.ParseLockedRSAKey(
		c.Secret("private_key").Reveal(), c.Secret("private_key_passphrase").Reveal(),
	)
	if err != nil {
		return "", err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(public)
	account, _, _ := strings.Cut(c.Text("account"), ".") // without the region that is behind a locator
	subject := strings.ToUpper(account + "." + c.Text(connection.FieldUsername))
	return warehouse.SignJWT(key, "", map[string]any{
		"iss": subject + ".SHA256:" + base64.StdEncoding.EncodeToString(sum[:]), "sub": subject, "iat": now.Unix(),
		"exp": now.Add(10 * time.Minute).Unix(),
	})
}

// grace is the time after a statement's limit in which the server can report the timeout itself.
const grace = 500 * time.Millisecond

// query runs one statement and returns its rows; nil for NULL. All its columns must be texts, and its
// arguments replace question marks.
func (s *session) query(sql string, args ...string) ([][]*string, error) {
	return s.queryWithin(s.to.Limits.Statement, sql, args...)
}

// statement is a request's body.
type statement struct {
	SQL        string             `json:"statement"`
	Timeout    int                `json:"timeout"` // seconds, after which it is cancelled; fractions are not taken
	Database   string             `json:"database"`
	Warehouse  string             `json:"warehouse"`
	Role       string             `json:"role,omitempty"`
	Bindings   map[string]binding `json:"bindings,omitempty"`
	Parameters map[string]string  `json:"parameters"`
}

// binding is a value for a question mark.
type binding struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

// queryWithin returns all rows of a statement that answers within a limit.
func (s *session) queryWithin(limit time.Duration, sql string, args ...string) ([][]*string, error) {
	ctx, cancel := context.WithTimeout(s.ctx, limit+grace)
	defer cancel()
	answer, err := s.begun(ctx, limit, sql, args...)
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		return nil, refusal(answer)
	}
	var result struct {
		About *struct {
			Rows int `json:"numRows"`
		} `json:"resultSetMetaData"`
		Data [][]*string `json:"data"`
	}
	if err := json.Unmarshal(answer.Body, &result); err != nil || result.About == nil {
		return nil, connection.NotThisDatabase
	}
	if len(result.Data) < result.About.Rows { // the rest is in partitions, which are for answers far larger than ours
		return nil, connection.ResponseTooLarge
	}
	return result.Data, nil
}

// statements is the path of the API.
const statements = "/api/v2/statements"

// begun sends a statement, and returns the response.
func (s *session) begun(
	ctx context.Context, limit time.Duration, sql string, args ...string,
) (warehouse.Answer, error) {
	c := s.to.Credential
	order := statement{
		SQL: sql, Timeout: max(1, int(limit.Seconds())), Database: s.database, Warehouse: c.Text("warehouse"),
		Role:     c.Text("role"),
		Bindings: map[string]binding{}, Parameters: map[string]string{"timezone": "UTC", "query_tag": "atrium"},
	}
	for i, a := range args {
		order.Bindings[strconv.Itoa(i+1)] = binding{Type: "TEXT", Value: a}
	}
	body, err := json.Marshal(order)
	if err != nil {
		return warehouse.Answer{}, connection.Internal
	}
	return s.call(ctx, http.MethodPost, statements, body)
}

// call sends a request, and returns the response.
func (s *session) call(ctx context.Context, method, path string, body []byte) (warehouse.Answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, "https://"+s.host+path, bytes.NewReader(body))
	if err != nil {
		return warehouse.Answer{}, connection.Internal
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("X-Snowflake-Authorization-Token-Type", "KEYPAIR_JWT")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "atrium/1")
	answer, err := s.web.Do(ctx, r)
	if err != nil {
		return answer, warehouse.UnlessCanceled(s.ctx, err)
	}
	return answer, nil
}
