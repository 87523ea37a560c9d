{{/* The image of a program: (list $ "scheduler"). A digest goes before the tag. */}}
{{- define "podsequence.image" -}}
{{- $ := index . 0 -}}
{{- $component := index . 1 -}}
{{- $program := index $.Values $component -}}
{{- $image := $.Values.image -}}
{{- printf "%s-%s" $image.repository $component -}}
{{- if $program.image.digest -}}
{{- if $image.tag }}:{{ $image.tag }}{{ end }}@{{ $program.image.digest }}
{{- else -}}
:{{ $image.tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Labels of what belongs to one program. They are also what its pods are selected by. */}}
{{- define "podsequence.labels" -}}
app.kubernetes.io/name: podsequence
app.kubernetes.io/component: {{ . }}
{{- end -}}

{{/* Whether a MutatingAdmissionPolicy is installed, as "true" or "": (list $ "routing"). */}}
{{- define "podsequence.policy" -}}
{{- $ := index . 0 -}}
{{- $wanted := toString (index $.Values.policies (index . 1)) -}}
{{- $known := or (semverCompare ">=1.36.0-0" $.Capabilities.KubeVersion.Version)
    ($.Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy") -}}
{{- /* A gate that may not be lifted would hold pods permanently. */ -}}
{{- $lifted := or (ne (index . 1) "gating") (has "podsequence.example.com/" $.Values.gatePrefixes) -}}
{{- if and $lifted (or (eq $wanted "true") (and (eq $wanted "auto") $known)) }}true{{ end -}}
{{- end -}}

{{/* Whether the namespace of the release is PodSequence's own, as "true" or "". */}}
{{- define "podsequence.ownNamespace" -}}
{{- $own := toString .Values.ownNamespace -}}
{{- if or (eq $own "true") (and (eq $own "auto") (eq .Release.Namespace "podsequence-system")) -}}
{{- if or (eq .Release.Namespace "default") (hasPrefix "kube-" .Release.Namespace) -}}
{{- fail (printf "ownNamespace: namespace %s is not PodSequence's own: leave the value out, or install in another namespace" .Release.Namespace) -}}
{{- end -}}
true
{{- end -}}
{{- end -}}

{{/* A term in CEL: whether the gate named gate may be lifted by us. */}}
{{- define "podsequence.isOurGate" -}}
{{- $terms := list -}}
{{- range .Values.gatePrefixes }}{{ $terms = append $terms (printf "gate.name.startsWith('%s')" .) }}{{ end -}}
{{- if eq (len $terms) 1 }}{{ first $terms }}{{ else }}({{ join " || " $terms }}){{ end -}}
{{- end -}}

{{/* GOMEMLIMIT of a program: 90 % of its memory limit, for what is left is for what the Go runtime does not count. */}}
{{- define "podsequence.goMemoryLimit" -}}
{{- if .goMemoryLimit -}}
{{- .goMemoryLimit -}}
{{- else -}}
{{- $limit := toString (dig "limits" "memory" "" (.resources | default dict)) -}}
{{- if regexMatch "^[0-9]+Gi$" $limit -}}
{{- div (mul (trimSuffix "Gi" $limit | int64) 1024 9) 10 }}MiB
{{- else if regexMatch "^[0-9]+Mi$" $limit -}}
{{- div (mul (trimSuffix "Mi" $limit | int64) 9) 10 }}MiB
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Metadata of a program's pods: (list $ "scheduler"). */}}
{{- define "podsequence.podLabels" -}}
{{- include "podsequence.labels" (index . 1) }}
{{- with (index (index . 0).Values (index . 1)).podLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* What the specs of both programs' pods begin with: (list $ "scheduler"). */}}
{{- define "podsequence.podSpec" -}}
{{- $ := index . 0 -}}
{{- $component := index . 1 -}}
{{- $program := index $.Values $component -}}
serviceAccountName: podsequence-{{ $component }}
{{- with $.Values.image.pullSecrets }}
imagePullSecrets:
{{ toYaml . }}
{{- end }}
{{- with $.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $program.nodeSelector }}
nodeSelector:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- with $program.affinity }}
affinity:
{{- toYaml . | nindent 2 }}
{{- end }}
{{- /* Set by people who migrate, see docs/migrate/podsequencing.md. */}}
tolerations:
- key: podsequence.example.com/migration
  operator: Exists
  effect: NoSchedule
{{- with $program.tolerations }}
{{ toYaml . }}
{{- end }}
topologySpreadConstraints:
{{- with $program.topologySpreadConstraints }}
{{ toYaml . }}
{{- else }}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "podsequence.labels" $component | nindent 6 }}
{{- end }}
securityContext:
  {{- include "podsequence.podSecurity" . | nindent 2 }}
{{- end -}}

{{- define "podsequence.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "podsequence.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Environment of a program. */}}
{{- define "podsequence.environment" -}}
- name: POD_IP
  valueFrom:
    fieldRef:
      fieldPath: status.podIP
{{- with include "podsequence.goMemoryLimit" . }}
- name: GOMEMLIMIT
  value: {{ . }}
{{- end }}
{{- end -}}

{{/* Flags, mount and volume of the certificate for metrics. */}}
{{- define "podsequence.certificateArgs" -}}
- --tls-cert-file=/etc/podsequence-tls/tls.crt
- --tls-private-key-file=/etc/podsequence-tls/tls.key
{{- end -}}

{{- define "podsequence.certificateMount" -}}
- name: certificate
  mountPath: /etc/podsequence-tls
  readOnly: true
{{- end -}}

{{- define "podsequence.certificateVolume" -}}
- name: certificate
  secret:
    secretName: {{ .Values.metricsCertificate.secretName }}
{{- end -}}
