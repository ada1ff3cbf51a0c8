{{- /* The release "orrery" names its objects so; another one puts its own name before. */ -}}
{{- define "orrery.name" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains "orrery" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-orrery" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* A Deployment's selector can never be changed: this is the one of the first release. */ -}}
{{- define "orrery.selector" -}}
app.kubernetes.io/name: {{ include "orrery.name" . }}
{{- end -}}

{{- define "orrery.natsSelector" -}}
app.kubernetes.io/name: {{ include "orrery.name" . }}-nats
{{- end -}}

{{- define "orrery.common" -}}
app.kubernetes.io/part-of: orrery
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "orrery.labels" -}}
{{ include "orrery.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{ include "orrery.common" . }}
{{- end -}}

{{- define "orrery.natsLabels" -}}
{{ include "orrery.natsSelector" . }}
{{ include "orrery.common" . }}
{{- end -}}

{{- define "orrery.account" -}}
{{- .Values.serviceAccount.name | default (include "orrery.name" .) -}}
{{- end -}}

{{- define "orrery.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}
{{- end -}}

{{- /* The Secret with `url`, and `ca.crt` unless the authority is one that Node.js trusts. */ -}}
{{- define "orrery.natsSecret" -}}
{{- .Values.natsSecret.name | default (printf "%s-nats" (include "orrery.name" .)) -}}
{{- end -}}

{{- define "orrery.natsServerSecret" -}}
{{- .Values.nats.existingSecret | default (printf "%s-nats-server" (include "orrery.name" .)) -}}
{{- end -}}

{{- /* Features that are off, as --without has them. */ -}}
{{- define "orrery.without" -}}
{{- $off := list -}}
{{- range $name := list "routes" "endpoints" "certificates" "elections" "releases" "proxiers" -}}
{{- if not (index $.Values.features $name) -}}{{- $off = append $off $name -}}{{- end -}}
{{- end -}}
{{- join "," $off -}}
{{- end -}}
