package microsoft

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/connection"
)

// The servers of the global cloud. Servers of national clouds have other names, and are not supported.
const (
	loginHost = "login.microsoftonline.com"
	graphHost = "graph.microsoft.com"
)

// Config has the addresses of Microsoft. It is not a setting: only tests use other addresses.
type Config struct {
	Login string // the base of the token endpoints
	Graph string // the base of the API
}

// Default has Microsoft's addresses.
func Default() Config { return Config{Login: "https://" + loginHost, Graph: "https://" + graphHost} }

// scope stands for the permissions that an administrator granted to the application.
const scope = "https://graph.microsoft.com/.default"

// maxAnswer is the most that is read from a response about a token or an item, in bytes.
const maxAnswer = 64 << 10

// signInError is a refusal of the token endpoint.
type signInError struct {
	code   connection.Code
	detail string // what is wrong, in a sentence
}

func (e *signInError) Error() string { return string(e.code) }

// reasons maps error_codes of the token endpoint ("Microsoft Entra authentication and authorization error codes").
var reasons = map[int]string{
	7000215: "Microsoft does not accept the client secret. It must be the secret's value, and not its ID.",
	7000222: "The client secret has expired. Create a new one.",
	700016:  "The tenant has no application with this client ID.",
	7000112: "The application is disabled.",
	90002:   "There is no such tenant.",
	900023:  "There is no such tenant.",
}

// token signs in as an application (client credentials grant of the Microsoft identity platform).
func (c Config) token(ctx context.Context, client *http.Client, account connection.Credential) (string, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {scope},
		"client_id": {account.Text("client_id")}, "client_secret": {account.Secret("client_secret").Reveal()}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		c.Login+"/"+url.PathEscape(account.Text("tenant_id"))+"/oauth2/v2.0/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "Atrium")
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }() // it was read from
	var answer struct {
		Token string `json:"access_token"`
		Error string `json:"error"`
		Codes []int  `json:"error_codes"`
	}
	decodeErr := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&answer)
	switch {
	case response.StatusCode == http.StatusOK && decodeErr == nil && connection.IsBearerToken(answer.Token):
		return answer.Token, nil
	case response.StatusCode == http.StatusTooManyRequests:
		return "", &signInError{code: connection.QuotaExceeded}
	case response.StatusCode >= http.StatusInternalServerError:
		return "", &signInError{code: connection.ServerStarting}
	case response.StatusCode < http.StatusBadRequest || decodeErr != nil || answer.Error == "":
		return "", &signInError{code: connection.NotThisDatabase}
	}
	refusal := &signInError{code: connection.AuthFailed,
		detail: "Microsoft does not accept the credential of the application."}
	if i := slices.IndexFunc(answer.Codes, func(n int) bool { return reasons[n] != "" }); i >= 0 {
		refusal.detail = reasons[answer.Codes[i]]
	} else if answer.Error != "invalid_client" && answer.Error != "unauthorized_client" {
		refusal.code = connection.AuthRejected // such as a rule of Conditional Access
	}
	return "", refusal
}

// failure returns the code of a token error.
func failure(err error) connection.Code {
	if refusal, ok := errors.AsType[*signInError](err); ok {
		return refusal.code
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return connection.ConnectTimeout
	}
	return connection.HostUnreachable
}
