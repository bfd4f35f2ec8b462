package atrium

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrSecret is the error of an API key, a token or another secret that no server has issued, because it contains a
// space, a line break or a character beyond ASCII. No error contains the secret itself.
var ErrSecret = errors.New("it contains a space, a line break or a character beyond ASCII")

// checked returns a secret without the spaces and line breaks around it, which files and mounted secrets often have.
// It returns an error that wraps ErrSecret if a character inside is not visible ASCII. name is what the caller calls
// the secret.
func checked(name, secret string) (string, error) {
	secret = trimmed(secret)
	for _, c := range []byte(secret) {
		if c < '!' || c > '~' {
			return "", fmt.Errorf("atrium: the %s is not valid: %w", name, ErrSecret)
		}
	}
	return secret, nil
}

func trimmed(secret string) string { return strings.Trim(secret, " \t\r\n") }

// credential returns what authenticates an attempt of c; empty for none.
func (client *Client) credential(ctx context.Context, c *call) (string, error) {
	if c.token != nil {
		return checked("credential", *c.token)
	}
	token, err := client.token(ctx)
	if err != nil {
		return "", fmt.Errorf("no credential: %w", err)
	}
	return checked("credential", token)
}
