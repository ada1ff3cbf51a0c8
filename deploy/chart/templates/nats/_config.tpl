{{- /*
The server's configuration. Who may do what is deploy/nats/permissions.conf, the file that the documentation explains
and a test tries: with this cluster's name, with passwords from the environment, and without its example of a worker.
*/ -}}
{{- define "orrery.natsConfig" -}}
{{- $name := printf "%s-nats" (include "orrery.name" .) -}}
{{- $permissions := .Files.Get "files/nats/permissions.conf" -}}
{{- $permissions = regexReplaceAll "(?m)^#.*\n" $permissions "" -}}
{{- $permissions = regexReplaceAll "(?s)orrery_worker_a: \\{.*?\n\\}\n" $permissions "" -}}
{{- $permissions = regexReplaceAll "(?m)^ *\\{ user: worker-a,.*\n" $permissions "" -}}
{{- $permissions = regexReplaceAll "user: ([a-z]+), password: \"[^\"]*\"" $permissions "user: ${1}, password: $$NATS_PASSWORD_${1}" -}}
{{- $permissions = $permissions | replace "orrery.default." (printf "orrery.%s." .Values.cluster) -}}
server_name: $POD_NAME
listen: "0.0.0.0:4222"
http: "0.0.0.0:8222"
pid_file: "/run/nats/nats.pid"
# Clients find a server by the Service, never by an address that no certificate names.
tls {
  cert_file: "/etc/nats/tls/tls.crt"
  key_file: "/etc/nats/tls/tls.key"
  timeout: 5
}
jetstream {
  store_dir: "/data"
  max_file_store: {{ .Values.nats.storage.fileStore }}
  max_memory_store: 64Mi
}
{{- if gt (int .Values.nats.replicas) 1 }}
cluster {
  name: {{ $name | quote }}
  listen: "0.0.0.0:6222"
  no_advertise: true
  # Only who has the server's own certificate is let in.
  tls {
    cert_file: "/etc/nats/tls/tls.crt"
    key_file: "/etc/nats/tls/tls.key"
    ca_file: "/etc/nats/tls/ca.crt"
    verify: true
    timeout: 5
  }
  routes: [
    {{- range $index := until (int .Values.nats.replicas) }}
    "nats://{{ $name }}-{{ $index }}.{{ $name }}-peers.{{ $.Release.Namespace }}.svc:6222"
    {{- end }}
  ]
}
{{- end }}
lame_duck_grace_period: "5s"
lame_duck_duration: "30s"
max_payload: 1Mi
{{- with .Values.nats.extraConfig }}
{{ . }}
{{- end }}
{{ $permissions }}
{{- end -}}
