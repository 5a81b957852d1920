# A server of one model. Build it from this folder:
#
#     docker build -t parasphere .
#     docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#         -p 127.0.0.1:8000:8000 -v "$PWD/models:/models:ro" parasphere
#
# It serves models/model. Options follow the name of the image, with the model first:
# parasphere /models/model --host 0.0.0.0 --workers 4
FROM python:3.12 AS build
COPY pyproject.toml CMakeLists.txt README.md LICENSE /src/
COPY src /src/src
RUN python -m venv /opt/venv
RUN /opt/venv/bin/python -m pip install --no-cache-dir "/src[serve]"

FROM python:3.12-slim
COPY --from=build /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
RUN chmod -R a+rX /opt/venv
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/ready', timeout=4)"]
ENTRYPOINT ["parasphere", "serve"]
CMD ["/models/model", "--host", "0.0.0.0"]
