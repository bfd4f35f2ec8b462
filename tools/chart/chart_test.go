package chart

import (
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const onPostgres = "existingSecret: atrium-secrets\nreplicas: 3\n"

// everything sets each value that adds something to the output.
const everything = onPostgres + `
fullnameOverride: backend
existingSecretKeys: {databaseURL: url, keyring: keys}
config: {server: {trusted_proxies: [10.0.0.0/8]}, orgs: [{slug: default, hosts: [atrium.example.com]}]}
image: {digest: "sha256:0123456789012345678901234567890123456789012345678901234567890123"}
imagePullSecrets: [{name: registry}]
serviceAccount: {name: runner, annotations: {a: b}}
service: {type: LoadBalancer, port: 8000, annotations: {a: b}}
ingress:
  enabled: true
  className: nginx
  annotations: {a: b}
  hosts: [atrium.example.com, www.example.com]
  tls: [{hosts: [atrium.example.com], secretName: tls}]
metrics: {enabled: true}
networkPolicy:
  from: [{namespaceSelector: {matchLabels: {name: ingress}}}]
  metricsFrom: [{podSelector: {matchLabels: {app: prometheus}}}]
podDisruptionBudget: {maxUnavailable: 25%}
podAnnotations: {a: b}
podLabels: {team: one}
nodeSelector: {disk: ssd}
tolerations: [{key: a, operator: Exists}]
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: zone}}]
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
priorityClassName: high
extraEnv: [{name: ATRIUM_MAIL_SMTP_PASSWORD, valueFrom: {secretKeyRef: {name: mail, key: password}}}]
extraEnvFrom: [{secretRef: {name: more}}]
extraVolumes: [{name: stripe, secret: {secretName: stripe}}]
extraVolumeMounts: [{name: stripe, mountPath: /run/secrets/stripe, readOnly: true}]
`

func TestTheChart(t *testing.T) {
	for name, values := range map[string]string{
		"by default, on SQLite": "",
		"on SQLite, with a volume of a class": "persistence: {storageClass: fast, annotations: {a: b}}\n" +
			"serviceAccount: {create: false}\nnetworkPolicy: {enabled: false}\n",
		"on PostgreSQL":             onPostgres,
		"with everything":           everything,
		"on PostgreSQL, one single": "existingSecret: atrium-secrets\n",
	} {
		t.Run(name, func(t *testing.T) {
			messages, err := Lint(values)
			if err != nil || len(messages) > 0 {
				t.Errorf("helm lint says %v, %v", messages, err)
			}
			objects, notes, err := Render(values)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(notes, "token create") {
				t.Errorf("the notes do not say how to create a key:\n%s", notes)
			}
			follow(t, objects)
		})
	}
}

func TestTheWorkload(t *testing.T) {
	t.Run("is a StatefulSet with one volume on SQLite", func(t *testing.T) {
		objects, _, err := Render("")
		if err != nil {
			t.Fatal(err)
		}
		set := one[*apps.StatefulSet](t, objects)
		if *set.Spec.Replicas != 1 || len(set.Spec.VolumeClaimTemplates) != 1 {
			t.Errorf("%d replicas, %d claims", *set.Spec.Replicas, len(set.Spec.VolumeClaimTemplates))
		}
		if n := len(all[*policy.PodDisruptionBudget](objects)); n != 0 {
			t.Errorf("one pod has %d budgets: no node could be drained", n)
		}
	})
	t.Run("is a Deployment on PostgreSQL that never has fewer pods than replicas", func(t *testing.T) {
		objects, _, err := Render(onPostgres)
		if err != nil {
			t.Fatal(err)
		}
		d := one[*apps.Deployment](t, objects)
		if *d.Spec.Replicas != 3 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
			t.Errorf("%+v", d.Spec)
		}
		one[*policy.PodDisruptionBudget](t, objects)
		env := map[string]string{}
		for _, e := range d.Spec.Template.Spec.Containers[0].Env {
			env[e.Name] = e.Value
		}
		for _, name := range []string{"ATRIUM_DATABASE_URL_FILE", "ATRIUM_KEYRING_KEYSET_FILE"} {
			if !strings.HasPrefix(env[name], "/run/secrets/atrium/") {
				t.Errorf("%s is %q", name, env[name])
			}
		}
	})
	t.Run("needs no right that a restricted namespace refuses", func(t *testing.T) {
		for _, values := range []string{"", onPostgres} {
			pod := podOf(t, values).Spec
			c := pod.Containers[0].SecurityContext
			if !*pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.SeccompProfile.Type != "RuntimeDefault" ||
				*c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem ||
				!slices.Equal(c.Capabilities.Drop, []core.Capability{"ALL"}) ||
				*pod.AutomountServiceAccountToken {
				t.Errorf("%+v %+v", pod.SecurityContext, c)
			}
		}
	})
	t.Run("waits longer than the drain before the pod is killed", func(t *testing.T) {
		pod := podOf(t, "").Spec
		if config := configOf(t, ""); config.Server.Drain != "10s" || *pod.TerminationGracePeriodSeconds <= 10+20 {
			t.Errorf("drain %s, grace %d s", config.Server.Drain, *pod.TerminationGracePeriodSeconds)
		}
	})
	t.Run("is replaced when the configuration changes", func(t *testing.T) {
		const sum = "checksum/config"
		if podOf(t, "").Annotations[sum] == podOf(t, "config: {log: {level: debug}}").Annotations[sum] {
			t.Error("the pod stays the same")
		}
	})
	t.Run("pins the image by digest", func(t *testing.T) {
		if image := podOf(t, everything).Spec.Containers[0].Image; !strings.Contains(image, "atrium@sha256:0123") {
			t.Error(image)
		}
	})
	t.Run("keeps the other settings of the user", func(t *testing.T) {
		config := configOf(t, everything)
		if config.Server.Addr != ":8080" || config.Metrics.Addr != ":9090" || len(config.Server.TrustedProxies) != 1 ||
			config.Orgs[0].Slug != "default" || config.Log.Format != "json" {
			t.Errorf("%+v", config)
		}
	})
	t.Run("lets only named peers read the metrics", func(t *testing.T) {
		for values, rules := range map[string]int{"metrics: {enabled: true}": 1, everything: 2} {
			objects, _, err := Render(values)
			if err != nil {
				t.Fatal(err)
			}
			if got := one[*networking.NetworkPolicy](t, objects).Spec.Ingress; len(got) != rules {
				t.Errorf("%d rules, want %d: %+v", len(got), rules, got)
			}
		}
	})
}

func TestValuesThatAreRefused(t *testing.T) {
	for values, want := range map[string]string{
		"replicas: 2":                                 "needs PostgreSQL",
		"replicas: 0":                                 "/replicas",
		"replica: 2":                                  "additional properties 'replica' not allowed",
		"image: {sha: abc}":                           "additional properties 'sha' not allowed",
		"image: {digest: latest}":                     "/image/digest",
		"service: {type: ExternalName}":               "/service/type",
		"persistence: {size: large}":                  "/persistence/size",
		"terminationGracePeriodSeconds: 5":            "must be longer than drainSeconds",
		"ingress: {enabled: true}":                    "needs at least one name",
		"config: {server: {addr: ':80'}}":             "config.server.addr is set by the chart",
		"config: {data: /data}":                       "config.data is set by the chart",
		"config: {database: {url: postgres://db}}":    "config.database.url is set by the chart",
		"config: {keyring: {keyset: x}}":              "config.keyring is set by the chart",
		"config: {mail: {smtp: {password: s3cret}}}":  "ATRIUM_MAIL_SMTP_PASSWORD",
		"config: {redis: {url: 'redis://:s3cret@r'}}": "ATRIUM_REDIS_URL",
		"extraEnv: [{name: A, value: b, secret: c}]":  "additional properties 'secret' not allowed",
		"podDisruptionBudget: {maxUnavailable: most}": "/podDisruptionBudget/maxUnavailable",
	} {
		_, _, err := Render(values)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want %q", values, err, want)
		}
	}
}

// settings are those of atrium.yaml that the chart touches.
type settings struct {
	Data   string
	Server struct {
		Addr           string
		Drain          string
		TrustedProxies []string `json:"trusted_proxies"`
	}
	Metrics struct{ Addr string }
	Log     struct{ Format string }
	Orgs    []struct{ Slug string }
}

func configOf(t *testing.T, values string) (c settings) {
	t.Helper()
	objects, _, err := Render(values)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(one[*core.ConfigMap](t, objects).Data["atrium.yaml"]), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func podOf(t *testing.T, values string) core.PodTemplateSpec {
	t.Helper()
	objects, _, err := Render(values)
	if err != nil {
		t.Fatal(err)
	}
	return podIn(t, objects)
}

func podIn(t *testing.T, objects []runtime.Object) core.PodTemplateSpec {
	t.Helper()
	if sets := all[*apps.StatefulSet](objects); len(sets) == 1 {
		return sets[0].Spec.Template
	}
	return one[*apps.Deployment](t, objects).Spec.Template
}

// follow checks that objects name only ports, volumes, labels and objects that exist.
func follow(t *testing.T, objects []runtime.Object) {
	t.Helper()
	pod := podIn(t, objects)
	container := pod.Spec.Containers[0]
	ports, volumes, names := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range container.Ports {
		ports[p.Name] = true
	}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, object := range objects {
		m, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		key := object.GetObjectKind().GroupVersionKind().Kind + " " + m.GetName()
		if names[key] {
			t.Errorf("%s is rendered twice", key)
		}
		names[key] = true
	}
	selects := func(what string, selector map[string]string) {
		if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(labels.Set(pod.Labels)) {
			t.Errorf("%s selects %v, the pod has %v", what, selector, pod.Labels)
		}
	}
	for _, object := range objects {
		switch o := object.(type) {
		case *apps.StatefulSet:
			for _, claim := range o.Spec.VolumeClaimTemplates {
				volumes[claim.Name] = true
			}
			selects("the set", o.Spec.Selector.MatchLabels)
			if !names["Service "+o.Spec.ServiceName] {
				t.Errorf("no service %s", o.Spec.ServiceName)
			}
		case *apps.Deployment:
			selects("the deployment", o.Spec.Selector.MatchLabels)
		case *core.Service:
			selects("the service", o.Spec.Selector)
			for _, p := range o.Spec.Ports {
				if !ports[p.TargetPort.StrVal] {
					t.Errorf("the service leads to a port %s", p.TargetPort.StrVal)
				}
			}
		case *policy.PodDisruptionBudget:
			selects("the budget", o.Spec.Selector.MatchLabels)
		case *networking.NetworkPolicy:
			selects("the policy", o.Spec.PodSelector.MatchLabels)
			for _, rule := range o.Spec.Ingress {
				if !ports[rule.Ports[0].Port.StrVal] {
					t.Errorf("the policy opens a port %s", rule.Ports[0].Port.StrVal)
				}
			}
		case *networking.Ingress:
			for _, rule := range o.Spec.Rules {
				if b := rule.HTTP.Paths[0].Backend.Service; !names["Service "+b.Name] || b.Port.Name != "http" {
					t.Errorf("the ingress leads to %+v", b)
				}
			}
		}
	}
	for _, m := range container.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("no volume %s", m.Name)
		}
	}
	for _, probe := range []*core.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		if probe == nil || !ports[probe.HTTPGet.Port.StrVal] {
			t.Errorf("a probe asks %+v", probe)
		}
	}
	if !names["ConfigMap "+pod.Spec.Volumes[0].ConfigMap.Name] {
		t.Errorf("no ConfigMap %s", pod.Spec.Volumes[0].ConfigMap.Name)
	}
	if account := pod.Spec.ServiceAccountName; account != "default" && !names["ServiceAccount "+account] {
		t.Errorf("no account %s", account)
	}
}

func all[T runtime.Object](objects []runtime.Object) (found []T) {
	for _, object := range objects {
		if o, ok := object.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

func one[T runtime.Object](t *testing.T, objects []runtime.Object) T {
	t.Helper()
	found := all[T](objects)
	if len(found) != 1 {
		t.Fatalf("%d of %T", len(found), *new(T))
	}
	return found[0]
}
