package connection

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of RSA keys in bits: services no longer accept shorter keys, and signing with longer ones
// takes seconds.
const (
	minRSA = 2048
	maxRSA = 4096
)

// ParseRSAKey reads a PEM private key in PKCS #8 or PKCS #1 without a passphrase.
func ParseRSAKey(text string) (*rsa.PrivateKey, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || strings.TrimSpace(string(rest)) != "" {
		return nil, errors.New("not one block of PEM")
	}
	if b := len(block.Bytes) * 8; b > 8*maxRSA { // before any computation with it
		return nil, errors.New("the key is too long")
	}
	var parsed any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		parsed, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		err = errors.New("not a private key, or one with a passphrase")
	}
	if err != nil {
		return nil, errors.New("not a private key that can be read") // without err, which may quote the key
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok || key.N.BitLen() < minRSA || key.N.BitLen() > maxRSA {
		return nil, errors.New("not an RSA key of 2048 to 4096 bits")
	}
	return key, nil
}

// ServiceAccount is a Google service account's key.
type ServiceAccount struct {
	Email string
	KeyID string
	Key   *rsa.PrivateKey
}

// ParseServiceAccount reads the JSON document that Google issues for a service account's key. It
// ignores the token address in the document, because its author could name any server.
func ParseServiceAccount(text string) (ServiceAccount, error) {
	var file struct {
		Type         string `json:"type"`
		ClientEmail  string `json:"client_email"`
		PrivateKeyID string `json:"private_key_id"`
		PrivateKey   string `json:"private_key"`
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil || file.Type != "service_account" ||
		file.ClientEmail == "" {
		return ServiceAccount{}, errors.New("not the key of a service account")
	}
	key, err := ParseRSAKey(file.PrivateKey)
	if err != nil {
		return ServiceAccount{}, err
	}
	return ServiceAccount{Email: file.ClientEmail, KeyID: file.PrivateKeyID, Key: key}, nil
}

// formats are the formats of the kinds' schemas that the standard does not define.
var formats = []*jsonschema.Format{
	{Name: "ssh-public-key", Validate: valid(ParseSSHPublicKey)},
	{Name: "rsa-private-key", Validate: valid(parseKeyOrLocked)},
	{Name: "google-service-account-key", Validate: valid(ParseServiceAccount)},
}

func valid[T any](parse func(string) (T, error)) func(any) error {
	return func(v any) error {
		text, ok := v.(string)
		if !ok {
			return nil // the schema reports a wrong type
		}
		_, err := parse(text)
		return err
	}
}
