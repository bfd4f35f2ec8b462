{{- define "atrium.name" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "atrium.selector" -}}
app.kubernetes.io/name: atrium
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "atrium.labels" -}}
{{ include "atrium.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "atrium.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "atrium.name" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{- define "atrium.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* atrium.config is atrium.yaml: the settings of the user and those that the chart owns. */}}
{{- define "atrium.config" -}}
{{- $server := dict "addr" ":8080" "drain" (printf "%ds" (int .Values.drainSeconds)) -}}
{{- $owned := dict "data" "/var/lib/atrium/data" "server" $server -}}
{{- if .Values.metrics.enabled -}}
{{- $_ := set $owned "metrics" (dict "addr" ":9090") -}}
{{- end -}}
{{- mergeOverwrite (deepCopy .Values.config) $owned | toYaml -}}
{{- end -}}

{{/* atrium.check refuses values that contradict each other. */}}
{{- define "atrium.check" -}}
{{- $v := .Values -}}
{{- if and (gt (int $v.replicas) 1) (not $v.existingSecret) -}}
{{- fail "More than one replica needs PostgreSQL: name a Secret with its URL and the keyring in existingSecret." -}}
{{- end -}}
{{- if le (int $v.terminationGracePeriodSeconds) (int $v.drainSeconds) -}}
{{- fail "terminationGracePeriodSeconds must be longer than drainSeconds and server.shutdown_timeout together." -}}
{{- end -}}
{{- range $key := list "data" "metrics" "database.url" "keyring" "server.addr" "server.drain" -}}
{{- $path := splitList "." $key -}}
{{- $section := $v.config -}}
{{- range initial $path }}{{ $section = get $section . | default dict }}{{ end -}}
{{- if hasKey $section (last $path) -}}
{{- fail (printf "config.%s is set by the chart: use its own values." $key) -}}
{{- end -}}
{{- end -}}
{{- if dig "mail" "smtp" "password" "" $v.config -}}
{{- fail "config.mail.smtp.password would be readable in a ConfigMap: pass ATRIUM_MAIL_SMTP_PASSWORD by extraEnv." -}}
{{- end -}}
{{- if dig "redis" "url" "" $v.config -}}
{{- fail "config.redis.url would be readable in a ConfigMap: pass ATRIUM_REDIS_URL by extraEnv." -}}
{{- end -}}
{{- if and $v.ingress.enabled (not $v.ingress.hosts) -}}
{{- fail "ingress.enabled needs at least one name in ingress.hosts." -}}
{{- end -}}
{{- end -}}
