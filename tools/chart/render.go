// Package chart checks the Helm chart in deploy/chart with Helm's own code: what helm lint and helm template do. Every
// rendered object is decoded strictly as the Kubernetes API does, and its references to other objects are followed.
package chart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// Folder is the chart, seen from this package.
const Folder = "../../deploy/chart"

// Lint returns the messages of helm lint for a YAML of values, except hints about an icon.
func Lint(values string) ([]string, error) {
	v, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, m := range lint.All(Folder, v, "default", true).Messages {
		if !strings.Contains(m.Err.Error(), "icon is recommended") {
			all = append(all, m.Error())
		}
	}
	return all, nil
}

// Render returns the objects that helm install creates with a YAML of values, and the notes that it prints.
func Render(values string) (objects []runtime.Object, notes string, err error) {
	c, err := loader.Load(Folder)
	if err != nil {
		return nil, "", err
	}
	v, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		return nil, "", err
	}
	release := chartutil.ReleaseOptions{Name: "team", Namespace: "default", IsInstall: true, Revision: 1}
	all, err := chartutil.ToRenderValues(c, v, release, nil)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.Engine{Strict: true}.Render(c, all)
	if err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			notes = files[name]
			continue
		}
		found, err := decode(files[name])
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w\n%s", name, err, files[name])
		}
		objects = append(objects, found...)
	}
	return objects, notes, nil
}

// decode reads the documents of a file, and refuses unknown and repeated fields.
func decode(text string) (objects []runtime.Object, err error) {
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme,
		json.SerializerOptions{Yaml: true, Strict: true})
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		object, _, err := strict.Decode(document, nil, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
}
