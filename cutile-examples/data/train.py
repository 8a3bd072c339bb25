#!/usr/bin/env python3
"""Makes digits.safetensors and mlp.safetensors for the example async_mlp.

    pip install numpy scikit-learn safetensors
    python3 train.py

The data are scikit-learn's handwritten digits: 1,797 images of 8x8 with values 0 to 16, from the
UCI "Optical Recognition of Handwritten Digits" set by E. Alpaydin and C. Kaynak, CC BY 4.0
(https://doi.org/10.24432/C50P49). The images are shuffled once with a fixed seed; the first 1,347
train, the last 450 are held out and never seen here.

The network is 64 -> 128 -> 64 -> 10 with ReLU, trained in f32 by plain Adam on cross-entropy.
"""

import pathlib

import numpy as np
from safetensors.numpy import save_file
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).parent
TRAIN = 1347
SIZES = [64, 128, 64, 10]
EPOCHS, BATCH, RATE, DECAY = 60, 64, 2e-3, 1e-4


def forward(weights, x):
    """Activations of every layer; the last one has no ReLU."""
    activations = [x]
    for i, (w, b) in enumerate(weights):
        z = activations[-1] @ w + b
        activations.append(z if i == len(weights) - 1 else np.maximum(z, 0))
    return activations


def gradients(weights, x, labels):
    activations = forward(weights, x)
    logits = activations[-1] - activations[-1].max(axis=1, keepdims=True)
    delta = np.exp(logits)
    delta /= delta.sum(axis=1, keepdims=True)
    delta[np.arange(len(labels)), labels] -= 1
    delta /= len(labels)
    out = []
    for i in reversed(range(len(weights))):
        w, _ = weights[i]
        out.append((activations[i].T @ delta + DECAY * w, delta.sum(axis=0)))
        delta = (delta @ w.T) * (activations[i] > 0)
    return out[::-1]


def main():
    rng = np.random.default_rng(7)
    digits = load_digits()
    order = rng.permutation(len(digits.data))
    images = digits.data[order].astype(np.uint8)
    labels = digits.target[order].astype(np.uint8)
    x = (images / np.float32(16)).astype(np.float32)

    weights = [
        (rng.normal(0, np.sqrt(2 / n), (n, m)).astype(np.float32), np.zeros(m, np.float32))
        for n, m in zip(SIZES, SIZES[1:])
    ]
    moments = [[(np.zeros_like(p), np.zeros_like(p)) for p in layer] for layer in weights]
    step = 0
    for _ in range(EPOCHS):
        shuffled = rng.permutation(TRAIN)
        for start in range(0, TRAIN, BATCH):
            batch = shuffled[start : start + BATCH]
            step += 1
            grads = gradients(weights, x[batch], labels[batch])
            for layer, (params, grad) in enumerate(zip(weights, grads)):
                updated = []
                for k, (p, g) in enumerate(zip(params, grad)):
                    m, v = moments[layer][k]
                    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                    moments[layer][k] = (m, v)
                    rate = RATE * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                    updated.append((p - rate * m / (np.sqrt(v) + 1e-8)).astype(np.float32))
                weights[layer] = tuple(updated)

    def accuracy(part):
        return float((forward(weights, x[part])[-1].argmax(axis=1) == labels[part]).mean())

    held_out = accuracy(slice(TRAIN, None))
    print(f"train {accuracy(slice(0, TRAIN)):.4f}, held out {held_out:.4f}")

    source = {
        "source": "UCI Optical Recognition of Handwritten Digits, via scikit-learn load_digits",
        "licence": "CC BY 4.0, https://doi.org/10.24432/C50P49",
    }
    save_file(
        {
            "train.images": images[:TRAIN], "train.labels": labels[:TRAIN],
            "test.images": images[TRAIN:], "test.labels": labels[TRAIN:],
        },
        HERE / "digits.safetensors", source,
    )
    tensors = {}
    for i, (w, b) in enumerate(weights):
        tensors[f"layer{i}.weight"], tensors[f"layer{i}.bias"] = w, b
    save_file(tensors, HERE / "mlp.safetensors", {"held_out_accuracy": f"{held_out:.4f}"})


if __name__ == "__main__":
    main()
