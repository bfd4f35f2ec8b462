{{/* atrium.pod is the pod template of both kinds of workload. */}}
{{- define "atrium.pod" -}}
metadata:
  labels:
    {{- include "atrium.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    # A changed configuration replaces the pods.
    checksum/config: {{ include "atrium.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "atrium.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: atrium
      image: {{ include "atrium.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve]
      env:
        - name: ATRIUM_CONFIG
          value: /etc/atrium/atrium.yaml
        # The chart's file sets these two. The image's variables would override it.
        - name: ATRIUM_DATA
          value: /var/lib/atrium/data
        - name: ATRIUM_SERVER_ADDR
          value: ":8080"
        {{- if .Values.existingSecret }}
        - name: ATRIUM_DATABASE_URL_FILE
          value: /run/secrets/atrium/database-url
        - name: ATRIUM_KEYRING_KEYSET_FILE
          value: /run/secrets/atrium/keyring.json
        {{- end }}
        {{- with .Values.extraEnv }}{{ toYaml . | nindent 8 }}{{ end }}
      {{- with .Values.extraEnvFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - name: http
          containerPort: 8080
        {{- if .Values.metrics.enabled }}
        - name: metrics
          containerPort: 9090
        {{- end }}
      # The first start creates the tables, and one after an upgrade migrates them, before the port opens.
      startupProbe:
        httpGet: {path: /api/health/live, port: http}
        periodSeconds: 2
        failureThreshold: 300
      livenessProbe:
        httpGet: {path: /api/health/live, port: http}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      # A pod that drains reports 503 and gets no new requests.
      readinessProbe:
        httpGet: {path: /api/health/ready, port: http}
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 1
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: config
          mountPath: /etc/atrium
          readOnly: true
        # Atrium creates the folder data in it, which only its own user can read.
        - name: data
          mountPath: /var/lib/atrium
        - name: tmp
          mountPath: /tmp
        {{- if .Values.existingSecret }}
        - name: secrets
          mountPath: /run/secrets/atrium
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "atrium.name" . }}
    - name: tmp
      emptyDir: {}
    {{- if .Values.existingSecret }}
    - name: data
      emptyDir: {}
    - name: secrets
      secret:
        secretName: {{ .Values.existingSecret }}
        defaultMode: 0440
        items:
          - key: {{ .Values.existingSecretKeys.databaseURL }}
            path: database-url
          - key: {{ .Values.existingSecretKeys.keyring }}
            path: keyring.json
    {{- end }}
    {{- with .Values.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
