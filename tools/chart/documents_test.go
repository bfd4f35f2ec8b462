package chart

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
)

// TestTheValuesOfTheDocumentation renders the values that docs/kubernetes.md shows.
func TestTheValuesOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "```yaml\n")
	values, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("the page shows no values")
	}
	objects, _, err := Render(values)
	if err != nil {
		t.Fatal(err)
	}
	follow(t, objects)
	one[*networking.Ingress](t, objects)
}

// TestTheProgramAcceptsTheConfiguration lets atrium itself check the file and the variables of the pod.
func TestTheProgramAcceptsTheConfiguration(t *testing.T) {
	folder := t.TempDir()
	binary := filepath.Join(folder, "atrium")
	build := exec.Command("go", "-C", "../..", "build", "-o", binary, "./cmd/atrium")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path, text := range map[string]string{
		"database-url": "postgres://atrium:secret@db/atrium", "keyring.json": "{}", "password": "secret",
	} {
		if err := os.WriteFile(filepath.Join(folder, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, values := range []string{"", onPostgres, "existingSecret: s\nmetrics: {enabled: true}\ndrainSeconds: 0"} {
		objects, _, err := Render(values)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, "atrium.yaml")
		text := one[*core.ConfigMap](t, objects).Data["atrium.yaml"]
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check := exec.Command(binary, "config", "check")
		for _, e := range podIn(t, objects).Spec.Containers[0].Env {
			value := strings.Replace(e.Value, "/etc/atrium", folder, 1)
			check.Env = append(check.Env, e.Name+"="+strings.Replace(value, "/run/secrets/atrium", folder, 1))
		}
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s\n%s", values, err, out, text)
		}
	}
}
