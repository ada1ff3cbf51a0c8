{{- /* Where Pods go: apart from each other if that is possible, unless the values say something else. */ -}}
{{- define "orrery.affinity" -}}
{{- if .own -}}
{{ toYaml .own }}
{{- else -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- .labels | nindent 12 }}
{{- end -}}
{{- end -}}

{{- define "orrery.spread" -}}
{{- if .own -}}
{{ toYaml .own }}
{{- else -}}
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- .labels | nindent 6 }}
{{- end -}}
{{- end -}}
