{{- define "mfu.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "mfu.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mfu.labels" -}}
{{ include "mfu.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "mfu.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "mfu.name" .) }}
{{- end }}

{{- /* A digest wins over a tag; without either, the chart's own version. Arguments: image, Chart. */}}
{{- define "mfu.image" -}}
{{- if .image.digest }}{{ .image.repository }}@{{ .image.digest }}{{ else }}{{ .image.repository }}:{{ .image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- /* Cluster-scoped objects carry the namespace in their name: two releases do not meet. */}}
{{- define "mfu.clusterName" -}}
{{ printf "%s-%s" .Release.Namespace (include "mfu.name" .) | trunc 60 | trimSuffix "-" }}
{{- end }}

{{- define "mfu.subject" -}}
- kind: ServiceAccount
  name: {{ include "mfu.serviceAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- end }}

{{- /* workloadKinds by API group; batch/v1 Jobs are granted with the profiling Jobs. */}}
{{- define "mfu.kinds" -}}
{{- $groups := dict }}
{{- range .Values.workloadKinds }}
{{- if not (and (eq .group "batch") (eq .resource "jobs")) }}
{{- $_ := set $groups .group (append (get $groups .group | default list) .resource) }}
{{- end }}
{{- end }}
{{- toYaml $groups }}
{{- end }}

{{- /* The priority of profiling pods; empty: the cluster's default. */}}
{{- define "mfu.priorityClass" -}}
{{- .Values.priorityClass.name | default (ternary (printf "%s-profiling" (include "mfu.clusterName" .)) "" .Values.priorityClass.create) }}
{{- end }}

{{- /* A whole number, never in powers of ten; empty where there is none. */}}
{{- define "mfu.limit" -}}
{{- if ne (toString .) "" }}{{ int64 . }}{{ end -}}
{{- end }}

{{/* A map as key=value pairs separated by commas, as the operator's settings have it. */}}
{{- define "mfu.pairs" -}}
{{- $pairs := list -}}
{{- range $key, $value := . -}}
{{- $pairs = append $pairs (printf "%s=%v" $key $value) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end -}}

{{/* namespace=privilege+privilege, separated by commas. */}}
{{- define "mfu.permits" -}}
{{- $permits := list -}}
{{- range $namespace, $privileges := . -}}
{{- if $privileges -}}
{{- $permits = append $permits (printf "%s=%s" $namespace (join "+" $privileges)) -}}
{{- end -}}
{{- end -}}
{{- join "," $permits -}}
{{- end -}}

{{/* A CEL list of the namespaces that a privilege is permitted in: (dict "permit" … "privilege" …). */}}
{{- define "mfu.permittedIn" -}}
{{- $namespaces := list -}}
{{- range $namespace, $privileges := .permit -}}
{{- if has $.privilege $privileges -}}
{{- $namespaces = append $namespaces (printf "'%s'" $namespace) -}}
{{- end -}}
{{- end -}}
[{{ join ", " $namespaces }}]
{{- end -}}

{{/* A CEL list of texts. */}}
{{- define "mfu.celList" -}}
{{- $texts := list -}}
{{- range . -}}
{{- $texts = append $texts (printf "'%s'" .) -}}
{{- end -}}
[{{ join ", " $texts }}]
{{- end -}}

{{/* A binding of the policy that guards baselines, in one namespace or ("") everywhere: (list $ suffix namespace). */}}
{{- define "mfu.authority" -}}
{{ include "mfu.clusterName" (index . 0) }}-authority{{ index . 1 }}{{ with index . 2 }}-{{ . }}{{ end }}
{{- end -}}

{{/* The names of those for every namespace, with commas. */}}
{{- define "mfu.authorities" -}}
{{- $names := list -}}
{{- range .Files.Get "files/guards.yaml" | fromYamlArray -}}
{{- $names = append $names (include "mfu.authority" (list $ .suffix "")) -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}
