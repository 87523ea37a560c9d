
{{/* Sets values that are missing or null to their defaults. With `helm upgrade --reuse-values` Helm uses the defaults of the chart that
was installed before, which lack values that are new. Every template begins with this. A map whose keys the operator chooses stays as it
is: Helm empties it if the operator sets it to null. */}}
{{- define "podsequence.setDefaults" -}}
{{- $chosen := list CHOSEN -}}
{{- include "podsequence.addMissing" (list .Values (.Files.Get "files/defaults.yaml" | fromYaml) $chosen "") -}}
{{- end -}}

{{/* Adds to a map what it lacks of another: (list $values $defaults $chosen $path). */}}
{{- define "podsequence.addMissing" -}}
{{- $values := index . 0 -}}
{{- $chosen := index . 2 -}}
{{- $parent := index . 3 -}}
{{- range $name, $default := index . 1 -}}
{{- $path := printf "%s%s" $parent $name -}}
{{- $value := index $values $name -}}
{{- if has $path $chosen -}}
{{- else if and (kindIs "map" $default) $value -}}
{{- include "podsequence.addMissing" (list $value $default $chosen (printf "%s." $path)) -}}
{{- else if or (kindIs "map" $default) (kindIs "invalid" $value) -}}
{{- $_ := set $values $name $default -}}
{{- end -}}
{{- end -}}
{{- end -}}
