package bucket

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Credentials are an access key.
type Credentials struct {
	ID, Secret string
	Token      string // of a session, or ""
}

// FindCredentials returns the credentials of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN, or
// the credentials of the profile AWS_PROFILE in the file ~/.aws/credentials, for which AWS_SHARED_CREDENTIALS_FILE may
// name another (AWS SDKs and Tools Reference Guide, "Shared config and credentials files").
func FindCredentials() (Credentials, error) {
	c := Credentials{os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")}
	if c.ID != "" && c.Secret != "" {
		return c, nil
	}
	file := os.Getenv("AWS_SHARED_CREDENTIALS_FILE")
	if file == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return Credentials{}, err
		}
		file = filepath.Join(home, ".aws", "credentials")
	}
	profile := cmp.Or(os.Getenv("AWS_PROFILE"), "default")
	values, err := readProfile(file, profile)
	if errors.Is(err, os.ErrNotExist) {
		return Credentials{}, fmt.Errorf("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to %s", file)
	}
	if err != nil {
		return Credentials{}, err
	}
	c = Credentials{values["aws_access_key_id"], values["aws_secret_access_key"], values["aws_session_token"]}
	if c.ID == "" || c.Secret == "" {
		return Credentials{}, fmt.Errorf("the profile %s of %s has no aws_access_key_id and aws_secret_access_key",
			profile, file)
	}
	return c, nil
}

// readProfile returns the values below [profile] in a file.
func readProfile(name, profile string) (map[string]string, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	values, isOurs := map[string]string{}, false
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if section, ok := strings.CutPrefix(line, "["); ok {
			section, _, _ = strings.Cut(section, "]")
			isOurs = strings.TrimSpace(section) == profile
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if isOurs && ok && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") {
			values[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
		}
	}
	return values, lines.Err()
}
