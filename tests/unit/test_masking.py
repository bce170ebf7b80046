"""What looks like a secret is hidden wherever strangers' text is shown; an ordinary training configuration stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfu_operator.model.masking import is_secret_key, masked

ORDINARY = """\
diff --git a/train/config.yaml b/train/config.yaml
index 3f69412..ced2717 100644
--- a/train/config.yaml
+++ b/train/config.yaml
@@ -1,14 +1,14 @@ data:
 apiVersion: batch/v1
 kind: Job
-  num_workers: 4
+  num_workers: 0
-  tokens_per_step: 524288
+  max_tokens: 4096
   tokenizer: meta-llama/Llama-3.1-8B-Instruct
   eos_token: "</s>"
   pad_token_id: 0
   token_dropout: true
   num_key_value_heads: 8
   key_padding: left
   cache_key: dataset-v2
   image_key: jpg
   passes: 3
   bypass: true
-          image: registry.example/gpt@sha256:0f3c2b1a0f3c2b1a0f3c2b1a0f3c2b1a0f3c2b1a0f3c2b1a0f3c2b1a0f3c2b1a
+          image: registry.example/gpt:2.4.1-cuda12.4-cudnn9-runtime
           args: ["--config", "/etc/train.yaml", "--max-tokens", "4096", "--tokenizer", "gpt2"]
           env:
             - name: HF_TOKEN
               valueFrom: {secretKeyRef: {name: hub, key: token}}
             - name: WANDB_API_KEY
               valueFrom:
                 secretKeyRef:
                   name: wandb
                   key: api-key
             - name: OMP_NUM_THREADS
               value: "8"
             - {name: AWS_REGION, value: eu-central-1}
           tolerations: [{key: nvidia.com/gpu, operator: Exists}]
           secretName: hub
           imagePullSecrets: [{name: registry}]
           passwordFile: /run/secrets/password
           token: ${HF_TOKEN}
           password: {{ .Values.password }}
           repo: https://github.com/example/gpt.git
           clone: ssh://git@github.com/example/gpt.git
"""

LOG = """\
Traceback (most recent call last):
  File "/opt/train.py", line 12, in <module>
    tokens = tokenizer(batch["text"], max_length=4096)
KeyError: 'tokens_per_step'
RuntimeError: CUDA error at AmpereSgemm128x128SlicedLdgSplitKernel: out of memory
commit 3f69412aa0d3f69412aa0d3f69412aa0d3f69412 pod gpt-small-7d9f8b6c5-x2x4z 550e8400-e29b-41d4-a716-446655440000
tokens/s: 1200, token: 17, bearer authentication is required
"""


@pytest.mark.parametrize("text", [ORDINARY, LOG, "", "\n", "no secrets here"])
def test_an_ordinary_text_stays_as_it_is(text: str) -> None:
    assert masked(text) == text


SECRET = "hunter2-Zw9"
HIDDEN = [
    f"password: {SECRET}",
    f"+  password: {SECRET} and more {SECRET}",
    f"-  DB_PASSWORD: '{SECRET}'",
    f'{{"apiKey": "{SECRET}", "lr": 3}}',
    f"{{'token': '{SECRET}'}}",
    f"HF_TOKEN={SECRET} python train.py",
    f"python train.py --api-key {SECRET} --lr 3",
    f"python train.py --password={SECRET}",
    f'args: ["--token", "{SECRET}", "--lr", "3"]',
    f"  - --auth-token\n  - {SECRET}\n",
    f"+  - name: DB_PASSWORD\n+    value: {SECRET}\n",
    f"   - name: DB_PASSWORD\n-    value: old-{SECRET}\n+    value: {SECRET}\n",
    f"- {{name: CLIENT_SECRET, value: {SECRET}}}",
    f'{{"name": "SENTRY_DSN", "value": "{SECRET}"}}',
    f"+ password: |\n+   {SECRET}\n+   {SECRET}\n+ lr: 3\n",
    f"AWS_SECRET_ACCESS_KEY={SECRET}",
    f"AWS_SESSION_TOKEN: {SECRET}",
    f"Authorization: Basic {SECRET}",
    f"curl -H 'Authorization: Bearer {SECRET}x'",
    f"sent Bearer {SECRET}",
    f"postgresql://bot:{SECRET}@db:5432/runs",
    f"https://{SECRET}{SECRET}@git.example/gpt.git",
    f"https://hub.example/x?token={SECRET}&page=2",
    f"connect(user='bot', password='{SECRET}')",
    f" apiVersion: v1\n kind: Secret\n metadata:\n   name: hub\n data:\n+  anything: {SECRET}\n",
    f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n{SECRET}\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN PRIVATE KEY-----\n{SECRET}",
]


@pytest.mark.parametrize("text", HIDDEN)
def test_a_secret_is_hidden_and_only_it(text: str) -> None:
    shown = masked(text)
    assert SECRET not in shown
    assert "***" in shown
    assert shown.count("\n") == text.count("\n")
    assert [word for word in ("lr", "page=2", "train.py", "@db:5432", "user='bot'") if word in text] == [
        word for word in ("lr", "page=2", "train.py", "@db:5432", "user='bot'") if word in shown
    ]


@pytest.mark.parametrize(
    "token",
    [
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "glpat-Zx81kd92jsk3920sk1Qd",
        "AKIAIOSFODNN7EXAMPLE",
        "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",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        "wJ4lrX9UtnF3EMIK7MDENGbP2xRfiCYE8XAMPL5EKEYq",
        "dGhpcyBpcyBh/HNlY3Jl+CB2YWx1ZQ==",
    ],
)
def test_a_token_is_known_by_its_shape(token: str) -> None:
    assert masked(f"logged in with {token} today") == "logged in with *** today"


def test_a_password_of_digits_is_one_and_a_count_of_tokens_is_not() -> None:
    assert masked("password: 123456") == "password: ***"
    assert masked("token: 123456") == "token: 123456"


@pytest.mark.parametrize(
    "key",
    ["password", "DB_PASSWORD", "apiKey", "api-key", "wandb.token", "clientSecret", "SENTRY_DSN", "MY_SECRET_VALUE"],
)
def test_a_key_that_holds_a_secret_is_known(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize(
    "key",
    ["tokens_per_step", "max_tokens", "tokenizer", "tokenizer_path", "token_count", "pad_token", "key", "sort_key",
     "num_keys", "secretName", "secretKeyRef", "secretRef", "passwordFile", "monkey", "AWS_REGION", "password_file"],
)  # fmt: skip
def test_an_ordinary_key_is_ordinary(key: str) -> None:
    assert not is_secret_key(key)


KEYS = st.sampled_from(["password", "HF_TOKEN", "client_secret", "apiKey", "AWS_SECRET_ACCESS_KEY", "SENTRY_DSN"])
VALUES = st.from_regex(r"[A-Za-z][A-Za-z0-9._~+/-]{8,40}[A-Za-z0-9]", fullmatch=True).filter(
    lambda value: value.lower() not in "name value password token secret"
)
SHAPES = st.sampled_from(
    [
        "{k}: {v}",
        "+  {k}: {v}",
        "{k}={v}",
        "x {k}='{v}', y",
        '{{"{k}": "{v}"}}',
        "- name: {k}\n  value: {v}",
        "--{k} {v}",
    ]
)


@given(key=KEYS, value=VALUES, shape=SHAPES)
def test_whatever_the_value_it_is_gone(key: str, value: str, shape: str) -> None:
    assert value not in masked(shape.format(k=key, v=value))


PIECES = st.one_of(
    st.text(max_size=20), st.sampled_from([*HIDDEN, ORDINARY, LOG, "\n", "password:", "|", '"', "-----"])
)


@given(st.lists(PIECES, max_size=6).map("".join))
def test_masking_twice_is_masking_once_and_lines_stay_lines(text: str) -> None:
    once = masked(text)
    assert masked(once) == once
    assert once.count("\n") == text.count("\n")
