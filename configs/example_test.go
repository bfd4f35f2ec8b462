package configs

import (
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTheExampleFile(t *testing.T) {
	const path = "atrium.example.yaml"
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	var root yaml.Node
	require.NoError(t, yaml.Unmarshal(raw, &root))

	t.Run("changes nothing", func(t *testing.T) {
		want, err := Load(Source{})
		require.NoError(t, err)
		got, err := Load(Source{File: path})
		require.NoError(t, err)
		same := cmp.Options{
			cmpopts.EquateEmpty(),
			cmp.Comparer(func(a, b secret.String) bool { return a.Reveal() == b.Reveal() }),
			cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		}
		assert.NoDiff(t, "the example beside the defaults", cmp.Diff(want, got, same))
	})

	t.Run("holds every key", func(t *testing.T) {
		var visit func(place string, n *yaml.Node, section reflect.Type)
		visit = func(place string, n *yaml.Node, section reflect.Type) {
			if n == nil || n.Kind != yaml.MappingNode {
				t.Errorf("%s: is not there as a section", place)
				return
			}
			values := map[string]*yaml.Node{}
			for i := 0; i < len(n.Content); i += 2 {
				values[n.Content[i].Value] = n.Content[i+1]
			}
			for name, ft := range fields(section) {
				inner := strings.TrimPrefix(place+"."+name, ".")
				switch v := values[name]; {
				case v == nil:
					t.Errorf("%s: is missing", inner)
				case isSection(ft):
					visit(inner, v, ft)
				// an item in the comment above
				case ft.Kind() == reflect.Slice && isSection(ft.Elem()) && len(v.Content) == 0:
					for field := range fields(ft.Elem()) {
						if !strings.Contains(n.Content[slices.Index(n.Content, v)-1].HeadComment, field+":") {
							t.Errorf("%s: its comment shows no %s", inner, field)
						}
					}
				case ft.Kind() == reflect.Slice && isSection(ft.Elem()):
					visit(inner+"[0]", v.Content[0], ft.Elem())
				}
			}
		}
		visit("", root.Content[0], reflect.TypeFor[Config]())
	})

	t.Run("says something about every key, or about the ones above it", func(t *testing.T) {
		for key := range keyTypes() {
			name := key[strings.LastIndex(key, ".")+1:]
			previous, _, found := strings.Cut(string(raw), "\n"+strings.Repeat("  ", strings.Count(key, "."))+name+":")
			if !found {
				t.Errorf("%s: is not found at its depth", key)
				continue
			}
			paragraph := previous[strings.LastIndex("\n"+previous, "\n\n"):]
			if key != "orgs" && !strings.Contains(paragraph, "#") {
				t.Errorf("%s: has no comment", key)
			}
		}
	})
}

func TestNoTwoKeysShareAVariable(t *testing.T) {
	seen := map[string]string{fileVariable: "the file"}
	for key := range keyTypes() {
		if other, isTaken := seen[variableOf(key)]; isTaken {
			t.Errorf("%s and %s are both %s", key, other, variableOf(key))
		}
		seen[variableOf(key)] = key
	}
	for _, key := range secretKeys {
		if other, isTaken := seen[variableOf(key)+"_FILE"]; isTaken {
			t.Errorf("the file of %s and %s share a variable", key, other)
		}
	}
}

func TestSecretKeysAreSecrets(t *testing.T) {
	for key, kind := range keyTypes() {
		if isSecret := kind == reflect.TypeFor[secret.String](); isSecret != slices.Contains(secretKeys, key) {
			t.Errorf("%s is a secret: %v; it can be given as a file: %v", key, isSecret, !isSecret)
		}
	}
	for _, key := range secretKeys {
		if _, ok := keyTypes()[key]; !ok {
			t.Errorf("%s is no key", key)
		}
	}
}
