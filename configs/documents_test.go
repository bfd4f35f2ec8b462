package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// TestWhatDocumentsShowIsValid loads each configuration that an operator may copy: files of deploy, and
// the blocks of documents.
func TestWhatDocumentsShowIsValid(t *testing.T) {
	views := map[string]string{}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", name))
		require.NoError(t, err)
		return string(text)
	}
	for _, file := range []string{"deploy/atrium.yaml", "deploy/package/atrium.yaml"} {
		views[file] = read(file)
	}
	blocks := regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```$")
	for _, page := range []string{"README.md", "docs/configuration.md", "docs/deployment.md", "docs/install.md",
		"docs/operating.md", "docs/scim.md"} {
		for i, block := range blocks.FindAllStringSubmatch(read(page), -1) {
			views[fmt.Sprintf("%s block %d", page, i+1)] = block[1]
		}
	}
	if len(views) < 6 {
		t.Errorf("only %d configurations were found", len(views))
	}
	for name, text := range views {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, secret := range []string{"stripe-webhook", "stripe-key", "atrium-scim", "atrium-oidc"} {
				require.NoError(t, os.WriteFile(filepath.Join(folder, secret),
					[]byte("sk_test_0123456789abcdef0123456789abcdef"), 0o600))
			}
			file := filepath.Join(folder, "atrium.yaml")
			require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "/run/secrets", folder)), 0o600))
			if _, err := Load(Source{File: file, Environ: passwordFor(text)}); err != nil {
				t.Error(err)
			}
		})
	}
}

// passwordFor is the environment that a configuration needs: a password where it names who signs in.
func passwordFor(text string) []string {
	if strings.Contains(text, "smtp:") {
		return []string{"ATRIUM_MAIL_SMTP_PASSWORD=hunter2"}
	}
	return nil
}

// TestTheComposeFileHasValidSettings loads what deploy/compose.yaml sets. No Docker runs it here.
func TestTheComposeFileHasValidSettings(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "deploy", "compose.yaml"))
	require.NoError(t, err)
	var file struct {
		Services struct {
			Atrium struct {
				Environment     map[string]string
				StopGracePeriod time.Duration `yaml:"stop_grace_period"`
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	atrium, defaults := file.Services.Atrium, regexp.MustCompile(`\$\{\w+:-(.*)\}`)
	var environ []string
	for name, value := range atrium.Environment {
		environ = append(environ, name+"="+defaults.ReplaceAllString(value, "$1"))
	}
	c, err := Load(Source{Environ: environ})
	require.NoError(t, err)
	assert.Equal(t, "logs are", c.Log.Format, "json")
	if needs := c.Server.Drain + c.Server.ShutdownTimeout; atrium.StopGracePeriod <= needs {
		t.Errorf("Docker kills the server after %s, which takes up to %s to stop", atrium.StopGracePeriod, needs)
	}
}
